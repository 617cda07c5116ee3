import { isAdministrator } from './administrator.ts';

/** Who may create tokens on the account page: `TOKENS_FOR`. */
export const TOKEN_AUDIENCES = ['everyone', 'admins'] as const;
type TokenAudience = (typeof TOKEN_AUDIENCES)[number];

/** Whether a user may create tokens; owners count as admins. */
export function mayCreateTokens(
  audience: TokenAudience,
  user: { isAdmin: boolean; isOwner: boolean },
): boolean {
  return audience === 'everyone' || isAdministrator(user);
}
