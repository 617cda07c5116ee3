import { describe, expect, test } from 'bun:test';
import { chmod, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createTestDatabase } from '../support/database/database.ts';
import { isInstalled } from '../support/docs/deployment.ts';
import { findFreePort } from '../support/machine/free-port.ts';
import { createServices, startProgram } from '../support/service/program.ts';
import { waitFor } from '../support/wait.ts';

/** PgBouncer before a database; its files are made in `folder`, which it may read. */
async function startPgBouncer(
  databaseUrl: string,
  { folder, mode }: { folder: string; mode: 'session' | 'transaction' },
): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const target = new URL(databaseUrl);
  const port = findFreePort();
  const file = join(folder, `pgbouncer-${port}.ini`);
  const users = join(folder, `pgbouncer-${port}.txt`);
  await writeFile(users, `"${target.username}" "${target.password}"\n`);
  await writeFile(
    file,
    `[databases]
* = host=${target.hostname} port=${target.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = ${mode}
default_pool_size = 40
`,
  );
  await chmod(folder, 0o755);
  const isRoot = process.getuid?.() === 0;
  const bouncer = Bun.spawn(['pgbouncer', ...(isRoot ? ['-u', 'nobody'] : []), file], {
    stdout: 'ignore',
    stderr: 'ignore',
  });
  await waitFor(
    () =>
      new Promise<boolean>((settle) => {
        const socket = connect(port, '127.0.0.1', () => settle(socket.end() !== undefined));
        socket.on('error', () => settle(false));
      }),
  );
  const url = new URL(databaseUrl);
  url.port = String(port);
  return {
    url: url.href,
    stop: () => {
      bouncer.kill('SIGKILL');
      return bouncer.exited;
    },
  };
}

const database = await createTestDatabase();
const { folder, env, start } = createServices(database.url);

describe.skipIf(!isInstalled('pgbouncer'))('behind PgBouncer', () => {
  test('transaction mode is refused in one line, by the CLI too', async () => {
    const pool = await startPgBouncer(database.url, { folder: folder, mode: 'transaction' });
    for (const [file, args] of [
      ['src/main.ts', []],
      ['src/cli.ts', ['servers', 'list']],
    ] as const) {
      const program = startProgram(file, { ...env, DATABASE_URL: pool.url }, [...args]);
      expect(await program.exited).toBe(1);
      expect(program.stderr()).toContain('a pooler in transaction mode');
      expect(program.stderr().trim().split('\n')).toHaveLength(1);
    }
    await pool.stop();
  });

  test('session mode works', async () => {
    const pool = await startPgBouncer(database.url, { folder: folder, mode: 'session' });
    const program = start({ DATABASE_URL: pool.url });
    await program.waitFor('HTTP server listening');
    program.kill('SIGINT');
    await program.exited;
    await pool.stop();
  });
});
