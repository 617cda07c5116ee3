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
const dataDir = join(folder.path, 'data');
await Bun.$`chmod 755 ${folder.path}`;
const copied = ['src', 'api', 'bot', 'media', 'package.json', 'tsconfig.json'];
await Bun.$`mkdir ${copy} && cp -r ${copied.map((name) => join(repository, name))} ${copy}`;
await symlink(join(repository, 'node_modules'), join(copy, 'node_modules'));
afterAll(folder.remove);

test.skipIf(process.platform === 'win32')(
  'Ctrl-C in `bun run dev` stops the embedded database even while the edited service does not start',
  async () => {
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
    onTestFinished(async () => void (await Bun.$`kill -9 -- -${child.pid}`.nothrow().quiet()));
    const collect = async (stream: ReadableStream<Uint8Array>) => {
      for await (const chunk of stream) shown += Buffer.from(chunk);
    };
    const isRead = Promise.all([collect(child.stdout), collect(child.stderr)]);
    await waitFor(() => shown.includes('HTTP server listening'));
    const edited = join(copy, 'src/runtime/roles.ts');
    const before = await readFile(edited, 'utf8');
    await writeFile(edited, 'export const ROLES = [');
    await waitFor(() => shown.includes('Unexpected end of file'));
    // A correction makes it start again.
    await writeFile(edited, before);
    await waitFor(() => shown.split('HTTP server listening').length === 3);
    await writeFile(edited, 'export const ROLES = [');
    await waitFor(() => shown.split('Unexpected end of file').length === 3);

    expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(true);
    // As a terminal does: to every process of the group.
    process.kill(-child.pid, 'SIGINT');
    await child.exited;
    await isRead;
    expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false);
  },
);
