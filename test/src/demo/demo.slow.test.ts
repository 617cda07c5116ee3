import { afterAll, describe, expect, test } from 'bun:test';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../../support/wait.ts';
import { openBrowser } from '../../support/web/browser.ts';
import { textOf } from '../../support/web/page-text.ts';

const ROOT = new URL('../../..', import.meta.url).pathname;

type Running = { child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>; output: () => string };

const children: Running['child'][] = [];
const folders: string[] = [];

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  for (const folder of folders) {
    await stopPostgres(folder);
    await rm(folder, { recursive: true, force: true });
  }
});

/** A folder with mode 700, like a home directory. */
async function aDataDir(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'community-api-demo-'));
  await chmod(folder, 0o700);
  folders.push(folder);
  return folder;
}

function startDemo(dataDir: string, env: Record<string, string> = {}): Running {
  const child = Bun.spawn([process.execPath, 'src/demo/main.ts'], {
    cwd: ROOT,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
    env: {
      ...process.env,
      DATA_DIR: dataDir,
      HOST: '127.0.0.1',
      PORT: '0',
      POLL_INTERVAL_SECONDS: '1',
      ...env,
    },
  });
  children.push(child);
  let output = '';
  const read = async (stream: ReadableStream<Uint8Array>) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) output += decoder.decode(chunk, { stream: true });
  };
  void read(child.stdout);
  void read(child.stderr);
  return { child, output: () => output };
}

async function untilRunning({ child, output }: Running): Promise<string> {
  await waitFor(() => output().includes('Data is kept in') || child.exitCode !== null, {
    what: 'the demo runs',
  });
  if (child.exitCode !== null) throw new Error(`the demo ended: ${output()}`);
  return output();
}

/** Stops it as Ctrl-C does, and checks that its database has stopped too. */
async function interrupt({ child }: Running, dataDir: string): Promise<void> {
  const stop = () => {
    child.kill('SIGINT');
    return child.exited;
  };
  expect(await stop()).toBe(0);
  expect(await postgresOf(dataDir)).toBeUndefined();
}

/** Process id of the demo's PostgreSQL while it lives. */
async function postgresOf(dataDir: string): Promise<number | undefined> {
  const file = await readFile(join(dataDir, 'demo', 'postgres', 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(file.split('\n')[0]);
  if (!(pid > 0)) return undefined;
  try {
    process.kill(pid, 0);
    return pid;
  } catch {
    return undefined;
  }
}

async function stopPostgres(dataDir: string): Promise<void> {
  const pid = await postgresOf(dataDir);
  if (pid === undefined) return;
  process.kill(pid, 'SIGQUIT');
  await waitFor(async () => (await postgresOf(dataDir)) === undefined);
}

function curlLines(output: string): string[] {
  return output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('curl '));
}

function baseOf(output: string): string {
  return /http:\/\/127\.0\.0\.1:[0-9]+/.exec(output)?.[0] ?? '';
}

async function getServers(base: string) {
  const response = await fetch(`${base}/api/v1/servers`);
  return (await response.json()) as {
    data: { slug: string; is_online: boolean; players_count: number; map: string; updated_at: string }[];
    meta: { total: number; online: number };
  };
}

describe('the demo', async () => {
  const dataDir = await aDataDir();
  let token = '';

  test('prints a token and four commands that work, changes by itself, and leaves nothing at Ctrl-C', async () => {
    const running = startDemo(dataDir);
    const output = await untilRunning(running);
    expect(output).toContain('the first start creates its database');
    expect(output).toMatch(
      /is running; Ctrl-C stops it\.\n\n +Status +http\S+\n +Account +http\S+: sign in as owner, admin, moderator, member\n/,
    );
    expect(output).toContain('to start over, stop the demo and delete this folder');
    const lines = curlLines(output);
    expect(lines).toHaveLength(3);
    for (const line of lines) {
      const answer = Bun.spawnSync(['sh', '-c', line]);
      expect([line, answer.exitCode]).toEqual([line, 0]);
      expect(JSON.parse(answer.stdout.toString())).toMatchObject({ success: true });
    }
    token = /capi_[0-9A-Za-z]+/.exec(output)?.[0] ?? '';
    expect(token).not.toBe('');

    const base = baseOf(output);
    const before = await getServers(base);
    expect(before.meta.total).toBeGreaterThanOrEqual(6);
    expect(before.meta.online).toBe(before.meta.total);
    const shown = ({ data }: typeof before) =>
      data.map(({ players_count, map }) => `${players_count} on ${map}`);
    await waitFor(async () => !Bun.deepEquals(shown(await getServers(base)), shown(before)), {
      everyMs: 1000,
      what: 'players come and go',
    });
    const sound = /http\S+\.mp3/.exec(output)?.[0] ?? '';
    await waitFor(async () => (await fetch(sound)).headers.get('content-type') === 'audio/mpeg', {
      everyMs: 250,
      what: 'the owner has a round-end sound',
    });
    const member = openBrowser(base);
    expect(textOf((await member.get('/')).text)).toContain('Sign in as member');
    await member.follow(await member.post('/account/demo-sign-in', { as: 'member' }));
    expect(textOf((await member.get('/account')).text)).toContain('Chat muted until');
    const cli = / +bun run cli (.*)/.exec(output);
    expect(cli?.[1]).toStartWith('--demo ');
    const runCli = (args = '') =>
      Bun.spawnSync(['sh', '-c', `${process.execPath} src/cli.ts ${args}`], {
        cwd: ROOT,
        env: { ...process.env, DATA_DIR: dataDir, DATABASE_URL: 'postgres://127.0.0.1:1/none' },
      }).stdout.toString();
    expect(runCli(cli?.[1])).toContain('winning round.wav');
    expect(runCli('--demo webhooks list')).toBe(
      'No webhooks yet: bun run cli --demo webhooks add --url URL\n',
    );
    await interrupt(running, dataDir);
    expect(await fetch(`${base}/healthz`).catch(() => 'gone')).toBe('gone');
  });

  test('starts again on the same data after it was killed, with the same token', async () => {
    const killed = startDemo(dataDir);
    await untilRunning(killed);
    killed.child.kill('SIGKILL');
    await killed.child.exited;

    const running = startDemo(dataDir);
    const output = await untilRunning(running);
    expect(output).not.toContain('first start');
    expect(output).toContain(token);
    for (const line of curlLines(output)) {
      expect(JSON.parse(Bun.spawnSync(['sh', '-c', line]).stdout.toString())).toMatchObject({
        success: true,
      });
    }
    expect((await getServers(baseOf(output))).meta.online).toBeGreaterThanOrEqual(6);

    const second = startDemo(dataDir);
    expect(await second.child.exited).toBe(1);
    expect(second.output().trim().split('\n').at(-1)).toBe(
      `A demo runs on ${join(dataDir, 'demo')} already: stop it or set another DATA_DIR`,
    );
    await interrupt(running, dataDir);
  });

  test('ends with one line that names PORT when the port is taken', async () => {
    const holder = createServer();
    await new Promise<void>((settle) => holder.listen(0, '127.0.0.1', settle));
    const address = holder.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const running = startDemo(dataDir, { PORT: String(port) });
    expect(await running.child.exited).toBe(1);
    await waitFor(() => running.output().includes('PORT'));
    expect(running.output()).toContain(`PORT=${port} is taken on 127.0.0.1`);
    expect(running.output()).not.toMatch(/DISCORD_TOKEN|REDIS_URL/);

    const secrets = { DISCORD_TOKEN: 'hunter2', REDIS_URL: 'redis://:hunter2@127.0.0.1:1' };
    const connected = startDemo(dataDir, { PORT: String(port), ...secrets });
    expect(await connected.child.exited).toBe(1);
    await waitFor(() => connected.output().includes('PORT'));
    expect(connected.output().split('\n').slice(1, 3)).toEqual([
      'DISCORD_TOKEN is set: the bot runs too, and shows the made-up data in its Discord guilds.',
      'REDIS_URL is set: limits are kept in that Redis.',
    ]);
    expect(connected.output()).not.toContain('hunter2');
    holder.close();
    expect(await postgresOf(dataDir)).toBeUndefined();
  });

  test('gives up a start that is interrupted, and the next one is whole', async () => {
    const folder = await aDataDir();
    const running = startDemo(folder);
    await waitFor(async () =>
      (await readdir(join(folder, 'demo')).catch((): string[] => [])).includes('postgres'),
    );
    await interrupt(running, folder);
    const again = startDemo(folder);
    const output = await untilRunning(again);
    expect(curlLines(output)).toHaveLength(3);
    await interrupt(again, folder);
  });
});
