import { NotFound } from '../../../src/domain/errors.ts';

/** A row id from a path. @param what it is the id of. @throws {NotFound} */
export function parseRowId(text: string | undefined, what: string): number {
  const id = tryParseRowId(text ?? null);
  if (id === undefined) throw new NotFound(`no ${what} ${text}`);
  return id;
}

/** The id of a penalty from a path. @throws {NotFound} */
export function parsePenaltyId(text: string | undefined): number {
  const id = tryParsePositive(text ?? null);
  if (id === undefined) throw new NotFound(`no penalty ${text}`);
  return id;
}

/** A row id from a query parameter; undefined for anything else. */
export function tryParseRowId(text: string | null): number | undefined {
  const number = tryParsePositive(text);
  return number !== undefined && number <= 0x7fff_ffff ? number : undefined;
}

/** A number from a query parameter; undefined unless it is a whole number from 1 to 10^15 − 1. */
export function tryParsePositive(text: string | null): number | undefined {
  return text !== null && /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : undefined;
}
