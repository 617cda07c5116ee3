import { InvalidInput } from '../../src/domain/errors.ts';
import { defineFailure } from './documented-failures.ts';

/** In characters. Splitting a query of 120,000 takes milliseconds, and happens before any rate limit. */
const MAX_QUERY_LENGTH = 8192;

/** Whether {@link splitQuery} would cut the query of an address. */
export function isQueryTooLong(address: string): boolean {
  const start = address.indexOf('?');
  return start !== -1 && address.length - start - 1 > MAX_QUERY_LENGTH;
}

/** The parameters in the first 8,192 characters of an address's query. */
export function splitQuery(address: string): URLSearchParams {
  const start = address.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : address.slice(start + 1, start + 1 + MAX_QUERY_LENGTH));
}

export const QUERY_TOO_LONG = defineFailure(
  'QueryTooLong',
  `The query has more than ${MAX_QUERY_LENGTH} characters.`,
  () => new InvalidInput(`The query is too long: use at most ${MAX_QUERY_LENGTH} characters`),
);
