import type { MemberVisit } from './visit.ts';

/** A route below `/account` that only members reach; what its handler throws becomes a page. */
export type MemberRoute = {
  method: 'GET' | 'POST';
  /** From `/account` on, with Elysia's `:name` for parameters: `/tokens/:id/revoke`. */
  path: string;
  /** False for a GET to which a sign-in must not lead back: a request of a script, the return from Discord. */
  isPage?: boolean;
  /**
   * A POST reads its form, and has the CSRF token checked, by `readMemberForm`; one that reads its body itself calls
   * `requireCsrfToken`.
   */
  handle: (visit: MemberVisit, params: Record<string, string>) => Promise<Response>;
};
