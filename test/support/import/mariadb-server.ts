import { expect, test } from 'bun:test';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { $ } from 'bun';
import mysql from 'mysql2/promise';
import { atEnd } from '../cleanup.ts';
import { findFreePort } from '../machine/free-port.ts';
import { waitForProcess } from '../wait.ts';

/** The folders of server programs are not in every user's PATH. */
const SEARCH_PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`;
const which = (program: string) => Bun.which(program, { PATH: SEARCH_PATH });

/** Whether a test can start its own MariaDB; if not, its tests are skipped with a message, and fail in CI. */
export function canStartMariaDb(...others: string[]): boolean {
  const missing = ['mariadbd', 'mariadb-install-db', ...others].filter((program) => !which(program));
  if (missing.length === 0) return true;
  const line = `${missing.join(', ')} to start a MariaDB: not installed`;
  if (process.env.CI !== 'true') console.warn(`SKIPPED: ${line}`);
  else test('a MariaDB can be started', () => expect.unreachable(line));
  return false;
}

export type MariaDb = {
  port: number;
  /** Runs statements as root, over TLS where the server has it. */
  run: (statements: string) => Promise<void>;
  /** Starts it again with other options. */
  restart: (options: readonly string[]) => Promise<void>;
};

/**
 * Starts a MariaDB of the caller's own on loopback. It is stopped at the end of the file's tests.
 * @param folder for its data; the server's account gets all that is in it.
 */
export async function startMariaDb(folder: string, options: readonly string[]): Promise<MariaDb> {
  const shell = new $.Shell().env({ ...process.env, PATH: SEARCH_PATH });
  const data = join(folder, 'data');
  await mkdir(data);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await shell`chown -R mysql ${folder}`;
  await chmod(folder, 0o755);
  const always = ['--no-defaults', ...(isRoot ? ['--user=mysql'] : []), `--datadir=${data}`];
  await shell`mariadb-install-db ${always} --auth-root-authentication-method=normal --skip-test-db`.quiet();
  const port = await findFreePort();
  let server: Bun.Subprocess | undefined;
  let hasTls = false;

  const account = { host: '127.0.0.1', port, user: 'root', multipleStatements: true };
  const connect = () =>
    mysql.createConnection({ ...account, ...(hasTls && { ssl: { rejectUnauthorized: false } }) });
  const stop = async (): Promise<void> => {
    server?.kill('SIGTERM');
    await server?.exited;
  };
  const start = async (more: readonly string[]): Promise<void> => {
    hasTls = more.some((option) => option.startsWith('--ssl-cert='));
    const listening = [`--port=${port}`, '--bind-address=127.0.0.1', `--socket=${join(data, 'socket')}`];
    server = Bun.spawn(
      [which('mariadbd') ?? '', ...always, ...listening, '--innodb-buffer-pool-size=16M', ...more],
      { stdout: 'ignore', stderr: 'ignore' },
    );
    const responds = () =>
      connect().then(
        (connection) => connection.end().then(() => true),
        () => false,
      );
    await waitForProcess(responds, { everyMs: 200, what: 'MariaDB responds' });
  };
  atEnd(stop);
  await start(options);
  return {
    port,
    async run(statements) {
      const connection = await connect();
      await connection.query(statements);
      await connection.end();
    },
    async restart(options) {
      await stop();
      await start(options);
    },
  };
}
