import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createTestFolder,
  type Program,
  runProgram,
  serviceEnv,
  startProgram,
} from '../../support/service/program.ts';
import { waitFor, waitForProcess } from '../../support/wait.ts';

const folder = createTestFolder();
const started: Program[] = [];
const env = serviceEnv(folder, '', { ROLES: 'api,sync' });

async function startService(extra: Record<string, string> = {}) {
  const program = startProgram('src/main.ts', { ...env, ...extra });
  started.push(program);
  const [, port] = await program.waitFor(/"port":(\d+)/);
  return { program, url: `http://127.0.0.1:${port}` };
}

const cli = (...args: string[]) => runProgram('src/cli.ts', env, args);

/** The server process of the embedded database, if it runs. */
function findPostmaster(): number | undefined {
  try {
    const pid = Number(readFileSync(join(folder, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);
    process.kill(pid, 0);
    return pid;
  } catch {
    return undefined;
  }
}

describe('bun start', () => {
  let first: Awaited<ReturnType<typeof startService>>;
  beforeAll(async () => {
    first = await startService();
  });
  const countServers = async () => {
    const list = (await (await fetch(`${first.url}/api/v1/servers`)).json()) as { meta: { total: number } };
    return list.meta.total;
  };
  afterAll(async () => {
    for (const program of started) program.kill('SIGKILL');
    await Promise.all(started.map((program) => program.exited));
    // What killed processes left behind is removed by the next one that ends cleanly.
    await cli('servers', 'list');
  });

  test('says on an empty database how to add the first server and token', async () => {
    await first.program.waitFor('servers add --name');
    await first.program.waitFor('tokens create --steamid64');
  });

  test("the operator's tool works on its data while it runs, and the service sees it within a second", async () => {
    const added = await cli('servers', 'add', '--name', 'Łódź #1', '--address', '127.0.0.1:27999');
    expect(added).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Added lodz-1 (127.0.0.1:27999)\n'),
    });
    await waitFor(async () => (await countServers()) === 1, { limitMs: 1000 });
  });

  test('a killed process restarts cleanly on the same data', async () => {
    first.program.kill('SIGKILL');
    await first.program.exited;
    expect(findPostmaster()).toBeDefined();
    first = await startService();
    expect(await countServers()).toBe(1);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s ends it within five seconds, with requests and database finished',
    async (signal) => {
      const { program, url } = signal === 'SIGTERM' ? await startService() : first;
      // A request under way: its connection is open and idle, which a graceful stop could wait for without end.
      const socket = await Bun.connect({
        hostname: '127.0.0.1',
        port: Number(new URL(url).port),
        socket: { data: () => undefined },
      });
      socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n');
      program.kill(signal);
      expect(await program.exited).toBe(0);
      expect(program.stdout()).toContain('"msg":"stopped"');
      socket.end();
      expect(findPostmaster() === undefined).toBe(signal === 'SIGINT');
    },
  );

  test('SIGHUP without a terminal shuts the service and the embedded database down cleanly', async () => {
    const own = createTestFolder();
    const { program } = await startService({ DATA_DIR: own });
    program.kill('SIGHUP');
    expect(await program.exited).toBe(0);
    expect(existsSync(join(own, 'postgres/postmaster.pid'))).toBe(false);
  });

  test.skipIf(process.platform !== 'linux')('SIGHUP does not end a process under nohup', async () => {
    const own = createTestFolder();
    const child = Bun.spawn(['nohup', 'bun', 'src/main.ts'], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env, DATA_DIR: own },
      stdout: 'pipe',
    });
    const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    let shown = '';
    while (!shown.includes('HTTP server listening')) shown += (await lines.read()).value ?? '';
    child.kill('SIGHUP');
    child.kill('SIGTERM');
    while (!shown.includes('"msg":"stopped"')) shown += (await lines.read()).value ?? '';
    expect(shown).toContain('"signal":"SIGTERM"');
    expect(await child.exited).toBe(0);
  });

  test.skipIf(process.platform === 'win32')(
    'closing its terminal ends it in order, the embedded database too',
    async () => {
      const own = createTestFolder();
      const pidFile = join(own, 'postgres/postmaster.pid');
      let shown = '';
      const child = Bun.spawn(['bun', 'src/main.ts'], {
        env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env, DATA_DIR: own },
        terminal: {
          data: (_, bytes) => {
            shown += Buffer.from(bytes);
          },
        },
      });
      await waitForProcess(() => shown.includes('HTTP server listening'));
      expect(existsSync(pidFile)).toBe(true);
      child.terminal?.close();
      expect(await child.exited).toBe(0);
      expect(existsSync(pidFile)).toBe(false);
    },
  );
});
