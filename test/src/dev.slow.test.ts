import { afterAll, expect, onTestFinished, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import packageJson from '../../package.json';
import { createTestFolder } from '../support/service/program.ts';
import { waitFor } from '../support/wait.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const folder = createTestFolder();
const copy = join(folder.path, 'copy');
await Bun.$`chmod 755 ${folder.path}`;
const copied = ['src', 'api', 'bot', 'media', 'package.json', 'tsconfig.json'];
await Bun.$`mkdir ${copy} && cp -r ${copied.map((name) => join(repository, name))} ${copy}`;
await symlink(join(repository, 'node_modules'), join(copy, 'node_modules'));
afterAll(folder.remove);

/** `bun run dev` on the copy, as the leader of a process group. */
function startDev(name: string) {
  const dataDir = join(folder.path, name);
  const child = Bun.spawn(['sh', '-c', packageJson.scripts.dev], {
    cwd: copy,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATA_DIR: dataDir,
      STORAGE_DIR: join(dataDir, 'storage'),
      HOST: '127.0.0.1',
      PORT: '0',
      ROLES: 'api',
    },
    detached: true,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  let shown = '';
  const collect = async (stream: ReadableStream<Uint8Array>) => {
    for await (const chunk of stream) shown += Buffer.from(chunk);
  };
  const isRead = Promise.all([collect(child.stdout), collect(child.stderr)]);
  onTestFinished(async () => void (await Bun.$`kill -9 -- -${child.pid}`.nothrow().quiet()));
  return {
    shown: () => shown,
    starts: () => shown.split('HTTP server listening').length - 1,
    isDatabaseUp: () => existsSync(join(dataDir, 'postgres/postmaster.pid')),
    /** As a terminal does: to every process of the group. */
    signal: (name: NodeJS.Signals) => process.kill(-child.pid, name),
    exited: child.exited.then(() => isRead),
  };
}

test.skipIf(process.platform === 'win32')(
  'Ctrl-C in `bun run dev` stops the embedded database even while the edited service does not start',
  async () => {
    const { shown, starts, isDatabaseUp, signal, exited } = startDev('edited');
    await waitFor(() => starts() === 1);
    const edited = join(copy, 'src/runtime/roles.ts');
    const before = await readFile(edited, 'utf8');
    await writeFile(edited, 'export const ROLES = [');
    await waitFor(() => shown().includes('Unexpected end of file'));
    // A correction makes it start again.
    await writeFile(edited, before);
    await waitFor(() => starts() === 2);
    await writeFile(edited, 'export const ROLES = [');
    await waitFor(() => shown().split('Unexpected end of file').length === 3);

    expect(isDatabaseUp()).toBe(true);
    signal('SIGINT');
    await exited;
    expect(isDatabaseUp()).toBe(false);
    await writeFile(edited, before);
  },
);

test.skipIf(process.platform === 'win32')('a restart in `bun run dev` reads .env again', async () => {
  await writeFile(join(copy, '.env'), 'SITE_NAMES=before\n');
  const { shown, starts, signal, exited } = startDev('settings');
  await waitFor(() => starts() === 1);
  await writeFile(join(copy, '.env'), 'PUBLIC_URLS=after\n');
  const edited = join(copy, 'src/main.ts');
  await writeFile(edited, `${await readFile(edited, 'utf8')}\n`);
  await waitFor(() => starts() === 2);
  signal('SIGINT');
  await exited;
  const [first, second] = shown().split('HTTP server listening');
  expect(first).toContain('SITE_NAMES is not a setting');
  expect(second).toContain('PUBLIC_URLS is not a setting');
  expect(second).not.toContain('SITE_NAMES');
});
