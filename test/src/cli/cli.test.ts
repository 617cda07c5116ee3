import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import packageJson from '../../../package.json';
import { isApiToken } from '../../../src/domain/api-token.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { openCli, runCli } from '../../support/service/cli.ts';
import { startProgram } from '../../support/service/program.ts';
import { waitFor } from '../../support/wait.ts';

const { database, folder, cli } = await openCli();

describe('the tool itself', () => {
  test('makes no demo where none has run', async () => {
    const { code, stdout, stderr } = await cli(['--demo', 'servers', 'list']);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/^There is no demo in \S+demo: start it with `bun run demo`, .*\n$/);
  });

  test('makes no database for commands that only read', async () => {
    const dataDir = join(folder.path, 'elsewhere');
    const backup = join(folder.path, 'elsewhere.tar.gz');
    for (const args of [
      'servers list',
      `users show ${aSteamId(1)}`,
      `users export ${aSteamId(1)}`,
      'penalties recount',
      `backup ${backup}`,
    ]) {
      expect(await runCli(args.split(' '), { DATA_DIR: relative('.', dataDir) })).toEqual({
        code: 1,
        stdout: '',
        stderr: `There is no database in ${dataDir}: run this where the service runs, or set its DATA_DIR or DATABASE_URL\n`,
      });
    }
    expect([existsSync(dataDir), existsSync(backup)]).toEqual([false, false]);
  });

  test('prints help, even where the configuration is broken and no database is in reach', async () => {
    const broken = { PORT: 'x', DATABASE_URL: 'nonsense' };
    const [bare, bareJson, bareDemo, asked, ofNoun, version] = await Promise.all([
      cli([], broken),
      cli(['--json'], broken),
      cli(['--demo'], broken),
      cli(['--help'], broken),
      cli(['tokens', 'create', '--help'], broken),
      cli(['--version'], broken),
    ]);
    for (const { code, stderr, stdout } of [bare, bareJson, bareDemo])
      expect([code, stderr, stdout]).toEqual([0, '', asked.stdout]);
    for (const noun of ['servers', 'tokens', 'users', 'penalties', 'sounds', 'bot', '--json']) {
      expect(bare.stdout).toContain(noun);
    }
    expect([ofNoun.code, ofNoun.stdout]).toEqual([0, expect.stringContaining('--steamid64 <id>')]);
    expect([version.code, version.stdout]).toEqual([0, `${packageJson.version}\n`]);
  });

  test('help prints the help of the named command', async () => {
    for (const path of [[], ['tokens']]) {
      const [help, option] = await Promise.all([cli(['help', ...path]), cli([...path, '--help'])]);
      expect([help.code, help.stderr, help.stdout]).toEqual([0, '', option.stdout]);
    }
    expect(await cli(['tokens', 'help', 'create'])).toEqual(await cli(['tokens', 'create', '--help']));
    expect(await cli(['help', 'nonsense'])).toMatchObject({ code: 2, stdout: '' });
  });

  test('ends with 2 and a hint on stderr for wrong usage', async () => {
    const calls = [
      ['nonsense'],
      ['servers'],
      ['servers', 'nonsense'],
      ['servers', 'add', '--name', 'x'],
      ['servers', 'list', 'extra'],
      ['servers', 'remove'],
      ['tokens', 'create', '--name'],
      ['tokens', 'list', '--nonsense'],
      ['users', 'set'],
    ];
    for (const { args, ended } of await Promise.all(
      calls.map(async (args) => ({ args, ended: await cli(args) })),
    )) {
      expect([args, ended.code, ended.stdout]).toEqual([args, 2, '']);
      expect(ended.stderr).not.toBe('');
      expect(ended.stderr).not.toContain('    at ');
      expect(ended.stderr).not.toStartWith('error:');
    }
  });

  test('names what is missing, and what an unknown option may have been', async () => {
    for (const [args, line] of [
      [['tokens', 'list', '--befor', '1'], "Unknown option '--befor'\n(Did you mean --before?)"],
      [['servers', 'add', '--name', 'x'], "Required option '--address <host:port>' not specified"],
    ] as const) {
      const { code, stderr } = await cli([...args]);
      expect([args, code, stderr]).toEqual([args, 2, expect.stringContaining(line)]);
    }
  });

  test('ends with 1 and one line when the database is unreachable, or a setting is bad', async () => {
    const missing = new URL(database.url);
    missing.pathname = '/never_made';
    const [away, none, bad] = await Promise.all([
      cli(['servers', 'list'], { DATABASE_URL: 'postgres://user:hunter2@127.0.0.1:1/x' }),
      cli(['servers', 'list'], { DATABASE_URL: missing.href }),
      cli(['servers', 'list'], { DATABASE_URL: 'mysql://user:hunter2@127.0.0.1/x' }),
    ]);
    expect(away).toEqual({
      code: 1,
      stdout: '',
      stderr: 'The database of DATABASE_URL is unreachable: 127.0.0.1:1\n',
    });
    expect(none).toEqual({
      code: 1,
      stdout: '',
      stderr: `The database of DATABASE_URL cannot be used: database "never_made" does not exist (${missing.host})\n`,
    });
    expect(bad).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining('DATABASE_URL=') });
    for (const { stderr } of [away, bad]) {
      expect(stderr.trimEnd()).not.toContain('\n');
      expect(stderr).not.toContain('hunter2');
    }
  });
});

describe('the embedded database', () => {
  test('one call reads from the embedded database what the one before wrote, without a service', async () => {
    const env = { DATABASE_URL: '', DATA_DIR: join(folder.path, 'embedded') };
    const added = await cli(['servers', 'add', '--name', 'One', '--address', '127.0.0.1:27015'], env);
    expect([added.code, added.stderr]).toEqual([0, `Creating a new database in ${env.DATA_DIR}\n`]);
    expect(added.stdout).toStartWith('Added one (127.0.0.1:27015)\n');
    const [list, token] = await Promise.all([
      cli(['servers', 'list', '--json'], env),
      cli(['tokens', 'create', '--steamid64', aSteamId(1), '--name', 'x'], env),
    ]);
    expect(JSON.parse(list.stdout)).toMatchObject([{ slug: 'one' }]);
    expect([token.code, isApiToken(token.stdout.trimEnd())]).toEqual([0, true]);
  });

  test('stops with a command that is interrupted', async () => {
    const env = { DATA_DIR: join(folder.path, 'interrupted') };
    const file = join(folder.path, 'long.ndjson');
    const line = {
      penalty_type: 'ban',
      player_steamid: aSteamId(1),
      created: '2026-01-01T00:00:00Z',
      duration: 0,
    };
    const lines = Array.from({ length: 200_000 }, (_, id) => JSON.stringify({ ...line, source_id: `${id}` }));
    await Bun.write(file, lines.join('\n'));
    const program = startProgram('src/cli.ts', env, ['penalties', 'import', 'ndjson', file]);
    const pidFile = Bun.file(join(env.DATA_DIR, 'postgres/postmaster.pid'));
    await waitFor(async () => (await pidFile.text().catch(() => '')).includes('ready'));
    program.kill('SIGINT');
    expect([await program.exited, program.stdout()]).toEqual([130, '']);
    expect(await pidFile.exists()).toBe(false);
  });
});
