import { InvalidInput, NotFound } from '../../../../src/domain/errors.ts';
import { TOKEN_SCOPES, type TokenScope } from '../../../../src/domain/rights/token-scope.ts';
import { tryParseRowId } from '../../request/numbers.ts';
import { PageError } from '../../request/page-error.ts';

/** The lifetimes that the form offers, in days. */
export const EXPIRIES = ['7', '30', '90', '365', 'never'] as const;
type Expiry = (typeof EXPIRIES)[number];
export const DEFAULT_EXPIRY: Expiry = '90';
const DAY_MS = 86_400_000;

/**
 * The expiry of a token that is created at `now`; null for never.
 * @throws {InvalidInput} for a value that is not one of {@link EXPIRIES}.
 */
export function parseExpiry(text: string | undefined, now: Date): Date | null {
  const expiry = EXPIRIES.find((known) => known === (text ?? DEFAULT_EXPIRY));
  if (!expiry) throw new InvalidInput('expires is not one of the choices');
  return expiry === 'never' ? null : new Date(now.getTime() + Number(expiry) * DAY_MS);
}

/** Marks a form that offers scopes. Browsers omit unchecked boxes, so a form without any would look the same. */
export const SCOPES_OFFERED = 'scopes_offered';

/** The name of a scope's checkbox. */
export function scopeField(scope: TokenScope): string {
  return `scope_${scope}`;
}

/**
 * The selected scopes; all scopes for a form that offers none.
 * @throws {PageError} 400 when none is selected, or an unknown one.
 */
export function readScopes(form: ReadonlyMap<string, string>): readonly TokenScope[] {
  const ticked = TOKEN_SCOPES.filter((scope) => form.has(scopeField(scope)));
  const sent = [...form.keys()].filter((name) => name.startsWith('scope_'));
  if (ticked.length > 0 && ticked.length === sent.length) return ticked;
  if (form.has(SCOPES_OFFERED) || sent.length > 0) throw new PageError('token-scopes', 400);
  return TOKEN_SCOPES;
}

/**
 * Parses the token id of a path.
 * @throws {NotFound}
 */
export function parseTokenId(text: string | undefined): number {
  const id = tryParseRowId(text ?? null);
  if (id === undefined) throw new NotFound(`there is no token ${text}`);
  return id;
}
