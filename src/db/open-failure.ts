import { errorCauses, errorCode } from '../error-causes.ts';
import { InvalidInput, Unavailable } from '../errors.ts';
import { isDatabaseOutage } from './client.ts';

/** What PostgreSQL says of an address, a password or rights an operator has to mend. https://www.postgresql.org/docs/current/errcodes-appendix.html */
const OPERATORS_CODES = new Set([
  '28000', // invalid_authorization_specification
  '28P01', // invalid_password
  '3D000', // invalid_catalog_name: there is no such database
  '42501', // insufficient_privilege: the schema may not be written
  '25006', // read_only_sql_transaction: a replica
]);

/**
 * One line that names DATABASE_URL, for a database that could not be opened and migrated; any other error as it is.
 * The password of `url` is not in it.
 */
export function toOpenFailure(error: unknown, url: string): unknown {
  const { host } = new URL(url);
  if (isDatabaseOutage(error)) {
    return new Unavailable(`The database of DATABASE_URL is out of reach: ${host}`, { cause: error });
  }
  const reason = errorCauses(error).find((cause) => OPERATORS_CODES.has(errorCode(cause)));
  if (reason === undefined) return error;
  return new InvalidInput(`The database of DATABASE_URL cannot be used: ${reason.message} (${host})`, {
    cause: error,
  });
}
