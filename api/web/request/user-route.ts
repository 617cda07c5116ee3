import type { JSX } from 'hono/jsx/jsx-runtime';
import type { NoticeKey } from '../locales/texts.ts';
import type { UserVisit } from './visit.ts';

/** A route below `/account` that requires a session; errors of its handler become pages. */
export type UserRoute = {
  /** HEAD only where it differs from a GET without its body, for example because reading is expensive. */
  method: 'GET' | 'HEAD' | 'POST';
  /** The path after `/account`; parameters are written as in Elysia: `/tokens/:id/revoke`. */
  path: string;
  /** False for a GET that a sign-in must not redirect to: a script's request, or the callback from Discord. */
  isPage?: boolean;
  /** True for a GET that counts towards the limit of forms, as every POST does. */
  isLimited?: boolean;
  /**
   * True for a POST that reads the body itself. Its handler must call `requireCsrfToken`, and `identifyAgain` once the body
   * has arrived. For any other POST the visitor is identified after the body has arrived, and the fields are in
   * `visit.form`.
   */
  readsBody?: boolean;
  /**
   * For a POST that may refuse what was entered, with a correctable `PageError`: the page with the form, which is shown
   * again with what was entered and the reason.
   */
  showAgain?: (visit: UserVisit, params: Record<string, string>) => Promise<JSX.Element> | JSX.Element;
  /** For a POST that signs out: the notice that visitors without a session see on the account page, not an error. */
  signedOutNotice?: NoticeKey;
  /** True for the start and the return of a link to Discord: each counts as a sign-in attempt of the address. */
  isAttempt?: boolean;
  handle: (
    visit: UserVisit,
    params: Record<string, string>,
    identifyAgain: IdentifyAgain,
  ) => Promise<Response>;
};

/**
 * Identifies the visitor once more: while a body arrives, their session may end and their rights may change.
 * @throws {Blocked} · {PageError} 401 when they are no longer signed in.
 */
export type IdentifyAgain = () => Promise<UserVisit>;
