import { distance } from 'fastest-levenshtein';
import { InvalidInput } from '../../src/domain/errors.ts';
import { foldName, isMisspelling } from '../../src/domain/text/misspelling.ts';
import { defineFailure, type ThrownFailure } from './documented-failures.ts';

/** A parameter's name, and for a filter the wrong names that people try. */
type Named = { name: string; aliases?: readonly string[] };

/** Parameters of other APIs, with those to use here instead. */
export type OtherKeys = Required<Named>;

/** A misspelled filter, for the OpenAPI document. @param name of the filter in the example. */
export function filterMisspelled(name: string): ThrownFailure {
  return defineFailure(
    'FilterMisspelled',
    'A key is nearly the name of a filter. Other unknown keys are ignored.',
    () => misspelled(name.toUpperCase(), name),
  );
}

/**
 * Rejects keys that resemble a filter. Ignoring one would return everybody's list in place of one player's, which is
 * worse than an error. Keys that resemble no filter, such as cache busters, are ignored.
 * @param others the keys of other APIs, which are rejected too, but not what resembles them.
 * @throws {InvalidInput} that names the filter.
 */
export function refuseNearMisses(
  parameters: readonly Named[],
  others: readonly OtherKeys[],
  keys: Iterable<string>,
): void {
  const filters = parameters.filter(({ aliases }) => aliases !== undefined);
  if (filters.length === 0) return;
  const names = new Set(parameters.map(({ name }) => name));
  for (const key of new Set(keys)) {
    if (names.has(key)) continue;
    const other = others.find(({ aliases }) => aliases.includes(key));
    const meant = other ?? findMeant(foldName(key), filters);
    if (meant) throw misspelled(key, meant.name);
  }
}

/** The filter that a key is probably meant for. */
function findMeant(key: string, filters: readonly Named[]): Named | undefined {
  const alias = filters.find(({ aliases = [] }) => aliases.some((other) => foldName(other) === key));
  if (alias) return alias;
  return filters
    .filter(({ name }) => isMisspelling(key, name, foldName(name).length > 4 ? 2 : 1))
    .sort((one, other) => distance(key, foldName(one.name)) - distance(key, foldName(other.name)))[0];
}

function misspelled(key: string, name: string): InvalidInput {
  return new InvalidInput(`unknown parameter ${JSON.stringify(key.slice(0, 64))}: did you mean ${name}?`);
}
