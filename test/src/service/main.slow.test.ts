import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../../../src/db/client.ts';
import { createTestFolder, type Program, serviceEnv, startProgram } from '../../support/service/program.ts';
import { waitFor } from '../../support/wait.ts';

const folder = createTestFolder();
const started: Program[] = [];
const env = serviceEnv(folder.path, '', { ROLES: 'api,sync' });

async function startService(extra: Record<string, string> = {}) {
  const program = startProgram('src/main.ts', { ...env, ...extra });
  started.push(program);
  const [, port] = await program.waitFor(/"port":(\d+)/);
  return { program, url: `http://127.0.0.1:${port}` };
}

const cli = async (...args: string[]) => {
  const program = startProgram('src/cli.ts', env, args);
  return { code: await program.exited, stdout: program.stdout(), stderr: program.stderr() };
};

/** The server process of the embedded database, if it runs. */
function findPostmaster(): number | undefined {
  try {
    const pid = Number(readFileSync(join(folder.path, 'postgres/postmaster.pid'), 'utf8').split('\n')[0]);
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
  afterAll(async () => {
    for (const program of started) program.kill('SIGKILL');
    await Promise.all(started.map((program) => program.exited));
    // What killed processes left behind is removed by the next one that ends cleanly.
    await cli('servers', 'list');
    await folder.remove();
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
    const deadline = Date.now() + 1000;
    let list: { meta: { total: number } };
    do list = (await (await fetch(`${first.url}/api/v1/servers`)).json()) as typeof list;
    while (list.meta.total === 0 && Date.now() < deadline && (await Bun.sleep(50)) === undefined);
    expect(list.meta.total).toBe(1);
  });

  test('two copies share the embedded data safely; the one that stays keeps its database', async () => {
    const second = await startService();
    const added = await cli('servers', 'add', '--name', 'Two', '--address', '127.0.0.1:27998');
    expect(added.code).toBe(0);
    second.program.kill('SIGTERM');
    expect(await second.program.exited).toBe(0);
    const ready = await fetch(`${first.url}/readyz`);
    expect(ready.status).toBe(200);
    expect(findPostmaster()).toBeDefined();
  });

  test('a killed process restarts cleanly on the same data', async () => {
    first.program.kill('SIGKILL');
    await first.program.exited;
    expect(findPostmaster()).toBeDefined();
    first = await startService();
    const list = (await (await fetch(`${first.url}/api/v1/servers`)).json()) as { meta: { total: number } };
    expect(list.meta.total).toBe(2);
  });

  test('an embedded server that is killed is restarted, and requests succeed again', async () => {
    const token = (await cli('tokens', 'create', '--steamid64', '[U:1:5]', '--name', 'test')).stdout.trim();
    const pid = findPostmaster();
    expect(pid).toBeDefined();
    process.kill(pid ?? 0, 'SIGKILL');
    const headers = { authorization: `Bearer ${token}` };
    let status = 0;
    const statuses = new Set<number>();
    const deadline = Date.now() + 15_000;
    while (Date.now() < deadline && !(status === 200 && findPostmaster() !== pid)) {
      expect((await fetch(`${first.url}/api/v1/servers`)).status).toBeOneOf([200, 429]);
      status = (await fetch(`${first.url}/api/v1/bans`, { headers })).status;
      statuses.add(status);
      await Bun.sleep(100);
    }
    expect(status).toBe(200);
    expect([...statuses].filter((one) => ![200, 503, 429].includes(one))).toEqual([]);
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

  test('the lease of a service that stopped is gone: nothing holds the database', async () => {
    expect(findPostmaster()).toBeUndefined();
    const third = await startService();
    const password = readFileSync(join(folder.path, 'postgres.password'), 'utf8').trim();
    const port = readFileSync(join(folder.path, 'postgres/postmaster.pid'), 'utf8').split('\n')[3];
    const connection = connect(`postgres://postgres:${password}@127.0.0.1:${port}/postgres`, { max: 1 });
    const [row] =
      await connection`select count(*)::int as leases from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and granted`;
    await connection.end();
    expect(row?.leases).toBe(1);
    third.program.kill('SIGINT');
    expect(await third.program.exited).toBe(0);
  });

  test.skipIf(process.platform === 'win32')(
    'closing its terminal ends it in order, the embedded database too',
    async () => {
      const own = createTestFolder();
      const pidFile = join(own.path, 'postgres/postmaster.pid');
      let shown = '';
      const child = Bun.spawn(['bun', 'src/main.ts'], {
        env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env, DATA_DIR: own.path },
        terminal: {
          data: (_, bytes) => {
            shown += Buffer.from(bytes);
          },
        },
      });
      await waitFor(() => shown.includes('HTTP server listening'));
      expect(existsSync(pidFile)).toBe(true);
      child.terminal?.close();
      expect(await child.exited).toBe(0);
      expect(existsSync(pidFile)).toBe(false);
      await own.remove();
    },
  );
});
