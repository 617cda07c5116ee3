import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import mysql from 'mysql2/promise';
import { InvalidInput, Unavailable } from '../../../../src/domain/errors.ts';
import { openSourceDatabase } from '../../../../src/import/source/open-source.ts';
import { findFreePort } from '../../../support/machine/free-port.ts';
import { createTestFolder } from '../../../support/service/program.ts';
import { waitFor } from '../../../support/wait.ts';

const PROGRAMS = ['mariadbd', 'mariadb-install-db', 'openssl'];
/** Where servers lie is not in every user's PATH. */
const SEARCH_PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;
const which = (program: string) => Bun.which(program, { PATH: SEARCH_PATH });

/** Whether a MariaDB of a test's own can be started; without it the tests say so and are skipped, except under CI. */
function canStartMariaDb(): boolean {
  const missing = PROGRAMS.filter((program) => !which(program));
  if (missing.length === 0) return true;
  const line = `${missing.join(', ')} to start a MariaDB with TLS: not installed`;
  if (process.env.CI !== 'true') console.warn(`SKIPPED: ${line}`);
  else test('a MariaDB with TLS can be started', () => expect.unreachable(line));
  return false;
}

type TlsMariaDb = {
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
 * Starts a MariaDB of the caller's own in a folder, which answers over TLS only, with a certificate for `localhost` signed
 * by a new authority.
 */
async function startTlsMariaDb(folder: string): Promise<TlsMariaDb> {
  const shell = new $.Shell().cwd(folder).env({ ...process.env, PATH: SEARCH_PATH });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const signer = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'];
  await Bun.write(join(folder, 'names'), 'subjectAltName=DNS:localhost');
  await shell`openssl req -x509 ${newKey} -keyout ca.key -out ca.pem -days 2 -subj /CN=Test`.quiet();
  await shell`openssl req ${newKey} -keyout server.key -out server.csr -subj /CN=server`.quiet();
  await shell`openssl x509 -req -in server.csr ${signer} -out server.pem -days 2 -extfile names`.quiet();
  const data = join(folder, 'data');
  await mkdir(data);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await shell`chown -R mysql ${folder}`;
  await chmod(folder, 0o755);
  const options = ['--no-defaults', ...(isRoot ? ['--user=mysql'] : []), `--datadir=${data}`];
  await shell`mariadb-install-db ${options} --auth-root-authentication-method=normal --skip-test-db`.quiet();
  const port = await findFreePort();
  let server: Bun.Subprocess | undefined;
  let tls: { rejectUnauthorized: boolean } | undefined;

  const account = { host: '127.0.0.1', port, user: 'root', multipleStatements: true };
  const connect = () => mysql.createConnection({ ...account, ...(tls && { ssl: tls }) });
  const stop = async (): Promise<void> => {
    server?.kill('SIGTERM');
    await server?.exited;
  };
  const start = async (more: string[]): Promise<void> => {
    tls = more.includes('--skip-ssl') ? undefined : { rejectUnauthorized: false };
    const listening = [`--port=${port}`, '--bind-address=127.0.0.1', `--socket=${join(data, 'socket')}`];
    server = Bun.spawn(
      [which('mariadbd') ?? '', ...options, ...listening, '--innodb-buffer-pool-size=16M', ...more],
      { stdout: 'ignore', stderr: 'ignore' },
    );
    const answers = () =>
      connect().then(
        (connection) => connection.end().then(() => true),
        () => false,
      );
    await waitFor(answers, { limitMs: 60_000, everyMs: 200, what: 'MariaDB with TLS answers' });
  };
  const [certificate, key] = [join(folder, 'server.pem'), join(folder, 'server.key')];
  await start([`--ssl-cert=${certificate}`, `--ssl-key=${key}`, '--require-secure-transport=ON']);
  return {
    port,
    caPath: join(folder, 'ca.pem'),
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

const PASSWORD = '50%off/?#@:';

describe.if(canStartMariaDb())('a MariaDB that answers over TLS only', () => {
  const folder = createTestFolder();
  let server: TlsMariaDb;
  let ca: string;
  beforeAll(async () => {
    server = await startTlsMariaDb(folder);
    ca = `ssl-ca=${encodeURIComponent(server.caPath)}`;
    await server.run(`create database cs2;
      create user 'community'@'%' identified by '${PASSWORD}'; grant select on cs2.* to 'community'@'%'`);
  });
  afterAll(() => server.stop());

  const address = (query: string, host = 'localhost') =>
    `mysql://community:${encodeURIComponent(PASSWORD)}@${host}:${server.port}/cs2${query}`;

  /** The cipher of the connection, or the message of the error when it fails. */
  async function connect(query: string, host?: string): Promise<string> {
    try {
      const source = await openSourceDatabase(address(query, host));
      const [row] = await source.select("show session status like 'Ssl_cipher'");
      await source.close();
      return row?.Value ?? '';
    } catch (error) {
      expect(error).toBeInstanceOf(error instanceof InvalidInput ? InvalidInput : Unavailable);
      const said = error instanceof Error ? error.message : '';
      expect(said.split('\n')).toHaveLength(1);
      expect(said).not.toContain('50%');
      return said;
    }
  }

  const CIPHER = /^TLS_\w+$/;

  test('refuses to read without TLS from a MariaDB that requires it', async () => {
    expect(await connect('')).toMatch(/^Cannot read mysql:.*(Access denied|insecure transport)/);
  });

  test('ssl-mode=required encrypts, and accepts any certificate', async () => {
    expect(await connect('?ssl-mode=required')).toMatch(CIPHER);
    expect(await connect('?ssl-mode=required', '127.0.0.1')).toMatch(CIPHER);
  });

  test('verify-ca asks who signed it, not for whom', async () => {
    expect(await connect(`?ssl-mode=verify-ca&${ca}`)).toMatch(CIPHER);
    expect(await connect(`?ssl-mode=verify-ca&${ca}`, '127.0.0.1')).toMatch(CIPHER);
    // A certificate authority that the system does not know.
    expect(await connect('?ssl-mode=verify-ca')).toContain(': unable to verify the first certificate');
  });

  test('verify-identity asks for whom as well', async () => {
    expect(await connect(`?ssl-mode=verify-identity&${ca}`)).toMatch(CIPHER);
    expect(await connect(`?ssl-mode=verify-identity&${ca}`, '127.0.0.1')).toContain(
      ": Hostname/IP does not match certificate's altnames",
    );
    expect(await connect('?ssl-mode=verify-identity')).toContain(': unable to verify the first certificate');
  });

  test('an ssl-ca that is not there or no certificate is named', async () => {
    const absent = join(folder, 'absent.pem');
    expect(await connect(`?ssl-mode=verify-ca&ssl-ca=${absent}`)).toBe(
      `ssl-ca ${JSON.stringify(absent)} cannot be read: give a PEM file of certificates (ENOENT: no such file or directory, open '${absent}')`,
    );
    const junk = join(folder, 'junk.pem');
    await Bun.write(junk, 'junk');
    expect(await connect(`?ssl-mode=verify-ca&ssl-ca=${junk}`)).toStartWith(
      `ssl-ca ${JSON.stringify(junk)} cannot be read: give a PEM file of certificates`,
    );
  });

  test('every mode refuses a server without TLS, and never reads in clear', async () => {
    await server.restart(['--skip-ssl']);
    for (const mode of ['required', `verify-ca&${ca}`, `verify-identity&${ca}`]) {
      expect(await connect(`?ssl-mode=${mode}`)).toContain(': Server does not support secure connection');
    }
    expect(await connect('')).toBe('');
  });
});
