import { distance } from 'fastest-levenshtein';
import { InvalidInput } from '../../src/domain/errors.ts';
import { defineFailure } from './failures.ts';

/** A parameter's name, and, of a filter, other names that people give it. */
type Named = { name: string; aliases?: readonly string[] };

/** The error of a filter whose name is spelled wrong, for the OpenAPI document. */
export const FILTER_MISSPELLED = defineFailure(
  'FilterMisspelled',
  'A key is nearly the name of a filter. Other unknown keys are ignored.',
  () => misspelled('steam_id', 'steamid'),
);

/**
 * Refuses keys that are meant for a filter and would be ignored: a list for one player that is everybody's list harms
 * more than an error. Keys that resemble no filter, such as cache busters, pass.
 * @throws {InvalidInput} that names the filter.
 */
export function refuseNearMisses(parameters: readonly Named[], keys: Iterable<string>): void {
  const filters = parameters.filter(({ aliases }) => aliases !== undefined);
  if (filters.length === 0) return;
  const known = new Set(parameters.map(({ name }) => name));
  for (const key of new Set(keys)) {
    const meant = known.has(key) ? undefined : findMeant(fold(key), filters);
    if (meant) throw misspelled(key, meant.name);
  }
}

/** The filter that a key resembles most. */
function findMeant(key: string, filters: readonly Named[]): Named | undefined {
  const alias = filters.find(({ aliases = [] }) => aliases.some((other) => fold(other) === key));
  if (alias) return alias;
  return filters
    .filter(({ name }) => isNear(key, fold(name)))
    .sort((one, other) => distance(key, fold(one.name)) - distance(key, fold(other.name)))[0];
}

/** Two letters off, in a short name one, or all letters in another order. */
function isNear(key: string, name: string): boolean {
  if (Math.abs(key.length - name.length) > 2) return false;
  return distance(key, name) <= (name.length > 4 ? 2 : 1) || sortLetters(key) === sortLetters(name);
}

function sortLetters(text: string): string {
  return [...text].sort().join('');
}

/** Without letter case and the marks that some write between words or after a list. */
function fold(name: string): string {
  return name.toLowerCase().replace(/[-_.\s[\]]/g, '');
}

function misspelled(key: string, name: string): InvalidInput {
  return new InvalidInput(`unknown parameter ${JSON.stringify(key.slice(0, 64))}: did you mean ${name}?`);
}
