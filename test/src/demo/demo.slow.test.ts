import { describe, expect, test } from 'bun:test';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pino from 'pino';
import { connect } from '../../../src/db/client.ts';
import { startEmbeddedPostgres } from '../../../src/db/embedded/cluster.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { atEnd } from '../../support/cleanup.ts';
import { findFreePort } from '../../support/machine/free-port.ts';
import { createTestFolder, type Program, startProgram } from '../../support/service/program.ts';
import { waitForProcess } from '../../support/wait.ts';
import { openBrowser } from '../../support/web/browser.ts';
import { textOf } from '../../support/web/page-text.ts';

const ROOT = new URL('../../..', import.meta.url).pathname;

function aDataDir(): string {
  const folder = createTestFolder();
  atEnd(() => stopPostgres(folder));
  return folder;
}

function startDemo(dataDir: string, env: Record<string, string> = {}): Program {
  return startProgram('src/demo/main.ts', {
    DATA_DIR: dataDir,
    HOST: '127.0.0.1',
    PORT: String(findFreePort()),
    POLL_INTERVAL_SECONDS: '1',
    ...env,
  });
}

async function untilRunning(program: Program): Promise<string> {
  await program.waitFor('delete this folder');
  return program.stdout();
}

/** Stops it as Ctrl-C does, and checks that its database has stopped too. */
async function interrupt(program: Program, dataDir: string): Promise<void> {
  program.kill('SIGINT');
  expect(await program.exited).toBe(0);
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
  await waitForProcess(async () => (await postgresOf(dataDir)) === undefined);
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
  const dataDir = aDataDir();
  let token = '';

  test('prints a token and four commands that work, changes over time, and leaves nothing at Ctrl-C', async () => {
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
    await waitForProcess(async () => !Bun.deepEquals(shown(await getServers(base)), shown(before)), {
      everyMs: 1000,
      what: 'players come and go',
    });
    const sound = /http\S+\.mp3/.exec(output)?.[0] ?? '';
    await waitForProcess(async () => (await fetch(sound)).headers.get('content-type') === 'audio/mpeg', {
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
    killed.kill('SIGKILL');
    await killed.exited;

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
    expect([await second.exited, second.stderr()]).toEqual([
      1,
      `A demo runs on ${join(dataDir, 'demo')} already: stop it or set another DATA_DIR\n`,
    ]);
    await interrupt(running, dataDir);
  });

  test('ends with one line that names PORT when the port is taken', async () => {
    const holder = createServer();
    await new Promise<void>((settle) => holder.listen(0, '127.0.0.1', settle));
    const address = holder.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const running = startDemo(dataDir, { PORT: String(port) });
    expect(await running.exited).toBe(1);
    expect(running.stderr()).toContain(`PORT=${port} is taken on 127.0.0.1`);
    expect(running.stdout()).not.toMatch(/DISCORD_TOKEN|REDIS_URL/);

    const secrets = { DISCORD_TOKEN: 'hunter2', REDIS_URL: 'redis://:hunter2@127.0.0.1:1' };
    const connected = startDemo(dataDir, { PORT: String(port), ...secrets });
    expect(await connected.exited).toBe(1);
    expect(connected.stdout().split('\n').slice(1, 3)).toEqual([
      'DISCORD_TOKEN is set: the bot runs too, and shows the made-up data in its Discord guilds.',
      'REDIS_URL is set: limits are kept in that Redis.',
    ]);
    expect(connected.stdout() + connected.stderr()).not.toContain('hunter2');
    holder.close();
    expect(await postgresOf(dataDir)).toBeUndefined();
  });

  test('gives up a start that is interrupted, and the next one is whole', async () => {
    const folder = aDataDir();
    const running = startDemo(folder);
    await waitForProcess(async () =>
      (await readdir(join(folder, 'demo')).catch((): string[] => [])).includes('postgres'),
    );
    await interrupt(running, folder);
    const again = startDemo(folder);
    const output = await untilRunning(again);
    expect(curlLines(output)).toHaveLength(3);
    await interrupt(again, folder);
  });

  test('recreates the database of an unreleased version, and prints one line', async () => {
    const folder = aDataDir();
    const embedded = await startEmbeddedPostgres({
      dataDir: join(folder, 'demo'),
      log: pino({ level: 'silent' }),
    });
    await migrateDatabase(embedded.url);
    const connection = connect(embedded.url, { max: 1 });
    await connection`update drizzle.__drizzle_migrations set hash = 'unreleased' where id = 7`;
    await connection.end();
    await embedded.stop();

    const running = startDemo(folder);
    const output = await untilRunning(running);
    expect(output).toContain('\nThe demo has the database of an unreleased version: it is made anew.\n');
    expect(curlLines(output)).toHaveLength(3);
    await interrupt(running, folder);
    const again = startDemo(folder);
    expect(await untilRunning(again)).not.toContain('unreleased');
    await interrupt(again, folder);
  });
});
