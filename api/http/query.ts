import { InvalidInput } from '../../src/domain/errors.ts';
import { defineFailure } from './failures.ts';

/** No query of ours has more; splitting 120,000 characters takes milliseconds, before any limit. */
const LONGEST_QUERY = 8192;

/** Whether {@link splitQuery} leaves something of an address out. */
export function isQueryTooLong(address: string): boolean {
  const start = address.indexOf('?');
  return start !== -1 && address.length - start - 1 > LONGEST_QUERY;
}

/** The pairs of an address's query, of its first 8,192 characters at most. */
export function splitQuery(address: string): URLSearchParams {
  const start = address.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : address.slice(start + 1, start + 1 + LONGEST_QUERY));
}

export const QUERY_TOO_LONG = defineFailure(
  'QueryTooLong',
  `The query has more than ${LONGEST_QUERY} characters.`,
  () => new InvalidInput(`The query is too long: give at most ${LONGEST_QUERY} characters`),
);

/** @throws {InvalidInput} when the query of an address is too long to be split. */
export function requireShortQuery(address: string): void {
  if (isQueryTooLong(address)) throw QUERY_TOO_LONG.error();
}
