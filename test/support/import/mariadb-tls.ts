import { expect, test } from 'bun:test';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import mysql from 'mysql2/promise';
import { findFreePort } from '../machine/free-port.ts';
import { waitFor } from '../wait.ts';

const PROGRAMS = ['mariadbd', 'mariadb-install-db', 'openssl'];

/** Whether a MariaDB of a test's own can be started; without it the tests say so and are skipped, except under CI. */
export function canStartMariaDb(): boolean {
  const missing = PROGRAMS.filter((program) => !Bun.which(program, { PATH: searchPath() }));
  if (missing.length === 0) return true;
  const line = `${missing.join(', ')} to start a MariaDB with TLS: not installed`;
  if (process.env.CI !== 'true') console.warn(`SKIPPED: ${line}`);
  else test('a MariaDB with TLS can be started', () => expect.unreachable(line));
  return false;
}

export type TlsMariaDb = {
  port: number;
  /** PEM file of the authority that signed the server's certificate. */
  caPath: string;
  /** Runs statements as root, over TLS where the server has it. */
  run: (statements: string) => Promise<void>;
  /** Starts it again with other options. */
  restart: (options: string[]) => Promise<void>;
  stop: () => Promise<void>;
};

/**
 * Starts a MariaDB of the caller's own in a folder, which answers over TLS only, with a certificate for `names`
 * (`DNS:localhost`) signed by an authority of its own.
 */
export async function startTlsMariaDb(folder: string, names: string): Promise<TlsMariaDb> {
  const files = await makeCertificates(folder, names);
  const data = join(folder, 'data');
  await mkdir(data);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await runProgram('chown', '-R', 'mysql', folder);
  await chmod(folder, 0o755);
  const asUser = isRoot ? ['--user=mysql'] : [];
  await runProgram(
    'mariadb-install-db',
    '--no-defaults',
    ...asUser,
    `--datadir=${data}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
  );
  const port = await findFreePort();
  let server: Bun.Subprocess | undefined;
  let tls: { rejectUnauthorized: boolean } | undefined;

  const connect = () =>
    mysql.createConnection({
      host: '127.0.0.1',
      port,
      user: 'root',
      multipleStatements: true,
      ...(tls && { ssl: tls }),
    });
  const stop = async (): Promise<void> => {
    server?.kill('SIGTERM');
    await server?.exited;
  };
  const start = async (options: string[]): Promise<void> => {
    tls = options.includes('--skip-ssl') ? undefined : { rejectUnauthorized: false };
    server = Bun.spawn(
      [
        program('mariadbd'),
        '--no-defaults',
        ...asUser,
        `--datadir=${data}`,
        `--port=${port}`,
        '--bind-address=127.0.0.1',
        `--socket=${join(data, 'socket')}`,
        '--innodb-buffer-pool-size=16M',
        ...options,
      ],
      { stdout: 'ignore', stderr: 'ignore' },
    );
    const answers = () =>
      connect().then(
        (connection) => connection.end().then(() => true),
        () => false,
      );
    await waitFor(answers, { limitMs: 60_000, everyMs: 200, what: 'MariaDB with TLS answers' });
  };
  await start([`--ssl-cert=${files.certificate}`, `--ssl-key=${files.key}`, '--require-secure-transport=ON']);
  return {
    port,
    caPath: files.ca,
    async run(statements) {
      const connection = await connect();
      await connection.query(statements);
      await connection.end();
    },
    async restart(options) {
      await stop();
      await start(options);
    },
    stop,
  };
}

/** An authority, and a certificate that it signed. */
async function makeCertificates(folder: string, names: string) {
  const file = (name: string) => join(folder, name);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const ca = file('ca.pem');
  await openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    file('ca.key'),
    '-out',
    ca,
    '-days',
    '2',
    '-subj',
    '/CN=Test',
  );
  await openssl(
    'req',
    ...newKey,
    '-keyout',
    file('server.key'),
    '-out',
    file('server.csr'),
    '-subj',
    '/CN=server',
  );
  await Bun.write(file('names'), `subjectAltName=${names}`);
  const signed = ['-in', file('server.csr'), '-CA', ca, '-CAkey', file('ca.key'), '-CAcreateserial'];
  const certificate = file('server.pem');
  await openssl('x509', '-req', ...signed, '-out', certificate, '-days', '2', '-extfile', file('names'));
  return { ca, certificate, key: file('server.key') };
}

const openssl = (...args: string[]) => runProgram('openssl', ...args);

async function runProgram(name: string, ...args: string[]): Promise<void> {
  const child = Bun.spawn([program(name), ...args], { stdout: 'ignore', stderr: 'pipe' });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${name} failed: ${said}`);
}

function program(name: string): string {
  return Bun.which(name, { PATH: searchPath() }) ?? name;
}

/** Where servers lie is not in every user's PATH. */
function searchPath(): string {
  return `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;
}
