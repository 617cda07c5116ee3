import type { Locale } from './locale.ts';
import type { MemberVisit } from './visit.ts';

/**
 * One card of the account page, with the routes its forms lead to. To add one:
 *
 * 1. Write `api/account/<name>-section.tsx` with `export function <name>Section(deps): AccountSection`, and its sentences
 *    in both languages beside it.
 * 2. `render` gives what stands below the heading. Put every value that a user, Steam or Discord chose into an element
 *    with the attribute `safe`, or through `attribute()` of `layout.tsx`; a form needs `<CsrfField visit={visit} />`.
 * 3. `routes` are mounted below `/account`. A handler runs only for a signed-in visitor; what it throws becomes a page.
 *    A plain form is read, and its CSRF token checked, by `readMemberForm`; a handler that reads its body itself calls
 *    `requireCsrfToken` (the token may come as the field `csrf_token` or the header `X-CSRF-Token`). It answers with
 *    `redirect`, or any Response: session cookie and security headers are added to it.
 * 4. Colours, spacing and controls are the CSS variables and classes of `assets/account.css` (`.card`, `.field`,
 *    `.button`, `.row`, `.hint`); a script of its own is one more file under `assets/`, named in `assets.ts`.
 * 5. Pass it to `accountPages` in `sections`, in the order of the page.
 */
export type AccountSection = {
  /** Anchor on the page: `#tokens`. */
  id: string;
  title: (locale: Locale) => string;
  render: (visit: MemberVisit) => Promise<string>;
  routes?: readonly AccountRoute[];
};

export type AccountRoute = {
  method: 'GET' | 'POST';
  /** From `/account` on, with Elysia's `:name` for parameters: `/tokens/:id/revoke`. */
  path: string;
  /** False for a GET that shows no page to come back to after the sign-in: a script's request, the return from Discord. */
  isPage?: boolean;
  handle: (visit: MemberVisit, params: Record<string, string>) => Promise<Response>;
};
