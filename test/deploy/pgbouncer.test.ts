import { describe, expect, test } from 'bun:test';
import { chmod, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createTestDatabase } from '../support/database/database.ts';
import { isInstalled, serve } from '../support/docs/deployment.ts';
import { findFreePort } from '../support/machine/free-port.ts';
import { createServices, runProgram } from '../support/service/program.ts';
import { waitFor } from '../support/wait.ts';

/** PgBouncer before a database; its files are made in `folder`, which it may read. @returns its address. */
async function startPgBouncer(
  databaseUrl: string,
  { folder, mode }: { folder: string; mode: 'session' | 'transaction' },
): Promise<string> {
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
  serve(['pgbouncer', ...(isRoot ? ['-u', 'nobody'] : []), file]);
  await waitFor(
    () =>
      new Promise<boolean>((settle) => {
        const socket = connect(port, '127.0.0.1', () => settle(socket.end() !== undefined));
        socket.on('error', () => settle(false));
      }),
  );
  return Object.assign(new URL(databaseUrl), { port: String(port) }).href;
}

const database = await createTestDatabase();
const { folder, env, start } = createServices(database.url);

describe.skipIf(!isInstalled('pgbouncer'))('behind PgBouncer', () => {
  test('transaction mode is refused in one line, by the CLI too', async () => {
    const poolUrl = await startPgBouncer(database.url, { folder: folder, mode: 'transaction' });
    for (const [file, args] of [
      ['src/main.ts', []],
      ['src/cli.ts', ['servers', 'list']],
    ] as const) {
      const { code, stderr } = await runProgram(file, { ...env, DATABASE_URL: poolUrl }, [...args]);
      expect([code, stderr.trim().split('\n')]).toEqual([
        1,
        [expect.stringContaining('a pooler in transaction mode')],
      ]);
    }
  });

  test('session mode works', async () => {
    const poolUrl = await startPgBouncer(database.url, { folder: folder, mode: 'session' });
    const program = start({ DATABASE_URL: poolUrl });
    await program.waitFor('HTTP server listening');
    program.kill('SIGINT');
    await program.exited;
  });
});
