import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { InvalidInput } from '../domain/errors.ts';
import { withoutPassword } from './environment.ts';

/** How to write characters that would end a user or a password, or that Bun and Compose expand in a file `.env`. */
export const ESCAPES =
  'in the user and the password write % as %25, / as %2F, ? as %3F, # as %23, $ as %24 and @ as %40';

type AddressParts = {
  /** IPv6 without brackets. */
  host: string;
  port: number | undefined;
  user: string;
  password: string;
  database: string;
  parameters: URLSearchParams;
};

/** Splits `scheme://user:password@host:port/database?…`; undefined if it is no URL, or an unescaped character cut it. */
export function trySplitAddress(address: string): AddressParts | undefined {
  const url = URL.parse(address);
  if (!url || `${url.pathname}${url.search}`.includes('@') || url.hash !== '') return undefined;
  try {
    return {
      host: decodeURIComponent(url.hostname).replace(/^\[|\]$/g, ''),
      port: url.port === '' ? undefined : Number(url.port),
      user: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password),
      database: decodeURIComponent(url.pathname.slice(1)),
      parameters: url.searchParams,
    };
  } catch {
    return undefined;
  }
}

type PostgresAddress = {
  /** Host and port, or the folder of the socket, for messages. */
  server: string;
  database: string;
  /** The address as options of the driver. */
  options: {
    host: string[];
    port: number[];
    path?: string;
    user?: string;
    password?: string;
    database?: string;
    ssl: Tls;
    sslnegotiation?: 'direct';
  };
};

/** `prefer` encrypts if the server can, and checks no certificate. */
type Tls = false | 'prefer' | ConnectionOptions;

/**
 * Reads `postgres://user:password@host:port/database?…`. Hosts may be a list between commas; a Unix socket is the
 * parameter `host`, with its folder. Certificates are read from their files.
 * @param setting the variable that holds the address, for errors.
 * @throws {InvalidInput} one line without the password.
 */
export function parsePostgresAddress(address: string, setting: string): PostgresAddress {
  // With a socket there may be no host, but a URL that has a user needs one.
  const parts = trySplitAddress(address.replace(/^([^/]*\/\/[^/?#]*@)(?=[/?]|$)/, '$1localhost'));
  if (!parts || !/^postgres(ql)?:\/\//i.test(address)) {
    const shown = JSON.stringify(withoutPassword(address));
    throw new InvalidInput(
      `${setting}=${shown} isn't valid: use postgres://user:password@host:port/database; ${ESCAPES}`,
    );
  }
  const parameters = readParameters(parts.parameters, setting);
  const folder = parameters.get('host');
  if (folder !== undefined && !folder.startsWith('/')) {
    refuse(setting, 'host', folder, 'the folder of a Unix socket');
  }
  const hosts = folder === undefined ? (parts.host || 'localhost').split(',') : [folder];
  const shownHost = folder ?? (parts.host.includes(':') ? `[${parts.host}]` : hosts.join());
  const { port, user, password, database } = parts;
  return {
    server: port === undefined ? shownHost : `${shownHost}:${port}`,
    database,
    options: {
      host: hosts,
      port: hosts.map(() => port ?? 5432),
      ...(folder !== undefined && { path: `${folder}/.s.PGSQL.${port ?? 5432}` }),
      ...(user && { user }),
      ...(password && { password }),
      ...(database && { database }),
      ssl: folder === undefined && readTls(parameters, setting),
      ...(parameters.get('sslnegotiation') === 'direct' && { sslnegotiation: 'direct' as const }),
    },
  };
}

/** https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS */
const PARAMETERS = ['host', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslpassword', 'sslnegotiation'];
/** Ignored: the service chooses names, timeouts and settings of sessions itself. */
const OURS =
  /^((fallback_)?application_name|\w+_timeout|options|search_path|client_encoding|timezone|datestyle)$/i;
/** Ignored: for other clients. */
const OF_OTHERS =
  /^(schema|connection_limit|pgbouncer|channel_binding|keepalives(_\w+)?|target_session_attrs|gssencmode)$/;
const CHOICES: Record<string, readonly string[]> = {
  sslmode: ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'],
  sslnegotiation: ['postgres', 'direct'],
};

function readParameters(given: URLSearchParams, setting: string): Map<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of given) {
    if (OURS.test(name) || OF_OTHERS.test(name)) continue;
    if (!PARAMETERS.includes(name)) {
      const shown = JSON.stringify(name.slice(0, 64));
      throw new InvalidInput(`${setting} has the unknown parameter ${shown}: use ${PARAMETERS.join(', ')}`);
    }
    const choices = CHOICES[name];
    if (choices && !choices.includes(value)) refuse(setting, name, value, `one of ${choices.join(', ')}`);
    if (value !== '') parameters.set(name, value);
  }
  return parameters;
}

/** As in libpq, a mode that checks no certificate does check it if authorities are named. */
function readTls(parameters: Map<string, string>, setting: string): Tls {
  const authorities = parameters.get('sslrootcert');
  const mode = parameters.get('sslmode') ?? (authorities === undefined ? 'disable' : 'verify-full');
  if (mode === 'disable') return false;
  if (mode === 'allow' || mode === 'prefer') return 'prefer';
  const read = (name: string) => {
    const path = parameters.get(name);
    try {
      return path === undefined ? undefined : readFileSync(path, 'utf8');
    } catch (cause) {
      return refuse(setting, name, path ?? '', 'a file that this process may read', { cause });
    }
  };
  const checksHost = mode === 'verify-full' || authorities === 'system';
  return {
    rejectUnauthorized: mode !== 'require' || authorities !== undefined,
    ca: authorities === 'system' ? undefined : read('sslrootcert'),
    cert: read('sslcert'),
    key: read('sslkey'),
    passphrase: parameters.get('sslpassword'),
    ...(!checksHost && { checkServerIdentity: () => undefined }),
  };
}

function refuse(setting: string, name: string, value: string, format: string, options?: ErrorOptions): never {
  throw new InvalidInput(
    `${setting} has the parameter ${name}=${JSON.stringify(value)}: use ${format}`,
    options,
  );
}
