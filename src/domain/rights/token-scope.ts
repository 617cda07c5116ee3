import { InvalidInput } from '../errors.ts';

/** What a token may be allowed to read. */
export const TOKEN_SCOPES = ['servers', 'penalties', 'lookup', 'events'] as const;
export type TokenScope = (typeof TOKEN_SCOPES)[number];

/**
 * Reads names of scopes; removes duplicates and sorts them as in {@link TOKEN_SCOPES}.
 * @throws {InvalidInput} for an unknown name and for an empty list.
 */
export function parseTokenScopes(names: readonly string[]): TokenScope[] {
  const scopeList = TOKEN_SCOPES.join(', ');
  const unknown = names.find((name) => !TOKEN_SCOPES.some((scope) => scope === name));
  if (unknown !== undefined) {
    throw new InvalidInput(`${JSON.stringify(unknown)} is not a scope: use any of ${scopeList}`);
  }
  const scopes = TOKEN_SCOPES.filter((scope) => names.includes(scope));
  if (scopes.length === 0) throw new InvalidInput(`A token needs a scope: use any of ${scopeList}`);
  return scopes;
}
