import { errorCauses, errorCode } from '../domain/error-causes.ts';
import { InvalidInput, Unavailable } from '../domain/errors.ts';
import { outageCodeOf } from './client.ts';

/** Errors that the operator has to correct: address, password or rights. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const OPERATORS_CODES = new Set([
  '28000', // invalid_authorization_specification
  '28P01', // invalid_password
  '08P01', // protocol_violation: PgBouncer rejects a setting that is sent when connecting
  '3D000', // invalid_catalog_name: there is no such database
  '42501', // insufficient_privilege: the schema may not be written
  '25006', // read_only_sql_transaction: a replica
]);

const DISK_FULL = '53100';

/** The database that an error message names. */
export type DatabaseAddress = { url: string; isEmbedded: boolean };

/**
 * Turns the error of a database that could not be opened or migrated, or was lost during the start, into one line;
 * returns other errors unchanged. It names DATABASE_URL, unless the database is the embedded one, and never contains
 * the password of `url`.
 */
export function toOpenFailure(error: unknown, { url, isEmbedded }: DatabaseAddress): unknown {
  const name = isEmbedded ? 'The embedded database' : 'The database of DATABASE_URL';
  const { host } = new URL(url);
  for (const cause of errorCauses(error)) {
    if (cause instanceof Unavailable || cause instanceof InvalidInput) return cause;
    if (OPERATORS_CODES.has(errorCode(cause))) {
      return new InvalidInput(`${name} cannot be used: ${cause.message} (${host})`, { cause: error });
    }
  }
  const code = outageCodeOf(error);
  if (code === undefined) return error;
  const trouble = code === DISK_FULL ? 'cannot be written: its disk is full' : 'is unreachable';
  return new Unavailable(`${name} ${trouble}: ${host}`, { cause: error });
}

/** One line for work that an outage of the database interrupted; undefined for any other error. */
export function describeOutage(error: unknown): string | undefined {
  const code = outageCodeOf(error);
  if (code === DISK_FULL) return "The database's disk is full: make room and try again";
  return code === undefined ? undefined : 'The database became unreachable: try again';
}
