import { InvalidInput } from '../../domain/errors.ts';
import { ESCAPES, trySplitAddress } from '../../runtime/database-address.ts';

/** The modes of https://dev.mysql.com/doc/refman/8.4/en/connection-options.html#option_general_ssl-mode that enforce TLS. */
const TLS_MODES = ['required', 'verify-ca', 'verify-identity'] as const;

export type MysqlTls = {
  /** `required` only encrypts; `verify-ca` also checks the certificate authority, `verify-identity` also the host name. */
  mode: (typeof TLS_MODES)[number];
  /** PEM file of certificate authorities; undefined: the system's. */
  caPath: string | undefined;
};

export type MysqlAddress = {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
  tls: MysqlTls | undefined;
};

const FORM = `the address of a source has the form mysql://user:password@host:port/database; ${ESCAPES}`;

/**
 * Reads `mysql://user:password@host:port/database?ssl-mode=…&ssl-ca=PATH`; port 3306 and user `root` when not given.
 * @throws {InvalidInput} one line, without any part of the address that could belong to the password.
 */
export function parseMysqlAddress(address: string): MysqlAddress {
  const parts = trySplitAddress(address);
  if (!parts?.host || !parts.database) throw new InvalidInput(FORM);
  const { parameters, port = 3306, user, ...rest } = parts;
  return { ...rest, port, user: user || 'root', tls: parseTls(parameters) };
}

const PARAMETERS = ['ssl-mode', 'ssl-ca'];

function parseTls(parameters: URLSearchParams): MysqlTls | undefined {
  const unknownName = parameters.keys().find((name) => !PARAMETERS.includes(name));
  if (unknownName !== undefined) {
    // A name without a value may be a part of the password: it is not quoted.
    const quotedName =
      parameters.get(unknownName) === '' ? '' : ` ${JSON.stringify(unknownName.slice(0, 64))}`;
    throw new InvalidInput(
      `unknown parameter${quotedName} in the address of a source: use ${PARAMETERS.join(' or ')}`,
    );
  }
  const mode = parseMode(parameters.get('ssl-mode'));
  const caPath = parameters.get('ssl-ca') || undefined;
  if (caPath !== undefined && (mode === undefined || mode === 'required')) {
    throw new InvalidInput('ssl-ca needs ssl-mode=verify-ca or ssl-mode=verify-identity');
  }
  return mode && { mode, caPath };
}

/** MySQL's own tools write `VERIFY_CA`. */
function parseMode(text: string | null): MysqlTls['mode'] | undefined {
  if (text === null) return undefined;
  const mode = TLS_MODES.find((each) => each === text.toLowerCase().replaceAll('_', '-'));
  if (mode) return mode;
  throw new InvalidInput(
    `ssl-mode ${JSON.stringify(text.slice(0, 64))} is not known: use required, verify-ca or verify-identity`,
  );
}
