import { chmod, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { findFreePort } from '../machine/free-port.ts';
import { waitFor } from '../wait.ts';

/** Whether PgBouncer is installed. */
export function hasPgBouncer(): boolean {
  if (Bun.which('pgbouncer')) return true;
  console.warn('NOT RUN: connections through PgBouncer, which is not installed');
  return false;
}

/** PgBouncer before a database; its files are made in `folder`, which it may read. */
export async function startPgBouncer(
  databaseUrl: string,
  { folder, mode, ignores = '' }: { folder: string; mode: 'session' | 'transaction'; ignores?: string },
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
ignore_startup_parameters = ${ignores}
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
