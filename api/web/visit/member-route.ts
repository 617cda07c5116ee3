import type { MemberVisit } from './visit.ts';

/** A route below `/account` that requires a session; errors of its handler become pages. */
export type MemberRoute = {
  method: 'GET' | 'POST';
  /** The path after `/account`; parameters are written as in Elysia: `/tokens/:id/revoke`. */
  path: string;
  /** False for a GET that a sign-in must not redirect to: a script's request, or the callback from Discord. */
  isPage?: boolean;
  /**
   * The handler of a POST must call `readMemberForm`, which also checks the CSRF token, or `requireCsrfToken` if it
   * reads the body itself.
   */
  handle: (visit: MemberVisit, params: Record<string, string>) => Promise<Response>;
};
