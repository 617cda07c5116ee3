import { afterAll, expect, test } from 'bun:test';
import { chmod, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTestFolder, startProgram } from '../../../support/service/program.ts';
import { waitFor } from '../../../support/wait.ts';

const folder = createTestFolder();
afterAll(folder.remove);

/** A command that writes creates the database first. */
const addServer = () =>
  startProgram('src/cli.ts', { DATA_DIR: folder.path, STORAGE_DIR: join(folder.path, 'storage') }, [
    'servers',
    'add',
    '--name',
    'One',
    '--address',
    '127.0.0.1:27015',
  ]);

/** The processes of initdb that make a database in the folder; each leads a process group. */
async function listInitdb(): Promise<number[]> {
  const found: number[] = [];
  for (const entry of await readdir('/proc')) {
    const command = await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '');
    const [program = '', ...args] = command.split('\0');
    if (program.endsWith('/initdb') && args.some((arg) => arg.includes(folder.path)))
      found.push(Number(entry));
  }
  return found;
}

const hasFile = async (name: string): Promise<boolean> => {
  const names = await readdir(folder.path, { recursive: true }).catch(() => []);
  return names.some((path) => path.endsWith(name));
};

test.skipIf(process.platform !== 'linux')(
  'a first start that was killed is repeated at once, although its initdb still runs',
  async () => {
    await chmod(folder.path, 0o755);
    const killed = addServer();
    const [orphan = 0] = await waitFor(async () => {
      const running = await listInitdb();
      return running.length > 0 && (await hasFile('/PG_VERSION')) && running;
    });
    killed.kill('SIGKILL');
    await killed.exited;
    process.kill(-orphan, 'SIGSTOP');
    const repeated = addServer();
    await waitFor(async () => (await listInitdb()).some((pid) => pid !== orphan));
    await waitFor(() => hasFile('/PG_VERSION'));
    process.kill(-orphan, 'SIGCONT');
    const code = await repeated.exited;
    expect([code, repeated.stderr()]).toEqual([0, `Creating a new database in ${folder.path}\n`]);
    // Nothing is left of the first attempt.
    await waitFor(async () => (await listInitdb()).length === 0);
    expect((await readdir(folder.path)).sort()).toEqual([
      'postgres',
      'postgres.lock',
      'postgres.log',
      'postgres.password',
    ]);
  },
);
