import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import packageJson from '../../../package.json';
import { isApiToken } from '../../../src/domain/api-token.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { LINE } from '../../support/import/penalty-rows.ts';
import { openCli, runCli } from '../../support/service/cli.ts';
import { startProgram } from '../../support/service/program.ts';
import { waitFor } from '../../support/wait.ts';

const { database, folder, cli } = await openCli();

test('the tool makes no demo where none has run', async () => {
  expect(await cli('--demo servers list')).toEqual({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^There is no demo in \S+demo: start it with `bun run demo`, .*\n$/),
  });
});

test('the tool makes no database for commands that only read', async () => {
  const dataDir = join(folder, 'elsewhere');
  const backup = join(folder, 'elsewhere.tar.gz');
  for (const line of [
    'servers list',
    `users show ${aSteamId(1)}`,
    `users export ${aSteamId(1)}`,
    'penalties recount',
    `backup ${backup}`,
  ]) {
    expect(await runCli(line.split(' '), { DATA_DIR: relative('.', dataDir) })).toEqual({
      code: 1,
      stdout: '',
      stderr: `There is no database in ${dataDir}: run this where the service runs, or set its DATA_DIR or DATABASE_URL\n`,
    });
  }
  expect([existsSync(dataDir), existsSync(backup)]).toEqual([false, false]);
});

test('the tool prints help, even where the configuration is broken and no database is in reach', async () => {
  const broken = { PORT: 'x', DATABASE_URL: 'nonsense' };
  const lines = ['', '--json', '--demo', '--help', 'tokens create --help', '--version'];
  const ended = await Promise.all(lines.map((line) => cli(line, broken)));
  const printed = ended.map(({ code, stdout, stderr }) => {
    expect([code, stderr]).toEqual([0, '']);
    return stdout;
  });
  const [bare = '', bareJson, bareDemo, asked, ofNoun, version] = printed;
  expect([bare, bareJson, bareDemo]).toEqual([asked, asked, asked]);
  for (const noun of ['servers', 'tokens', 'users', 'penalties', 'sounds', 'bot', '--json'])
    expect(bare).toContain(noun);
  expect(ofNoun).toContain('--steamid64 <id>');
  expect(version).toBe(`${packageJson.version}\n`);
});

test('help prints the help of the named command', async () => {
  for (const [help, option] of [
    ['help', '--help'],
    ['help tokens', 'tokens --help'],
    ['tokens help create', 'tokens create --help'],
  ] as const) {
    const { stdout } = await cli(option);
    expect(await cli(help)).toEqual({ code: 0, stderr: '', stdout });
  }
  expect(await cli('help nonsense')).toMatchObject({ code: 2, stdout: '' });
});

test('the tool ends with 2 and a hint on stderr for wrong usage', async () => {
  const lines = [
    'nonsense',
    'servers',
    'servers nonsense',
    'servers add --name x',
    'servers list extra',
    'servers remove',
    'tokens create --name',
    'tokens list --nonsense',
    'users set',
  ];
  const ended = await Promise.all(lines.map(async (line) => ({ line, ...(await cli(line)) })));
  for (const { line, code, stdout, stderr } of ended) {
    expect([line, code, stdout]).toEqual([line, 2, '']);
    expect(stderr).not.toBe('');
    expect(stderr).not.toContain('    at ');
    expect(stderr).not.toStartWith('error:');
  }
});

test.each([
  ['tokens list --befor 1', "Unknown option '--befor'\n(Did you mean --before?)"],
  ['servers add --name x', "Required option '--address <host:port>' not specified"],
])('%s names what is missing, or what an unknown option may have been', async (line, hint) => {
  expect(await cli(line)).toMatchObject({ code: 2, stderr: expect.stringContaining(hint) });
});

test('the tool ends with 1 and one line when the database is unreachable, or a setting is bad', async () => {
  const missing = Object.assign(new URL(database.url), { pathname: '/never_made' });
  const list = (address: string) => cli('servers list', { DATABASE_URL: address });
  const [away, none, bad] = await Promise.all([
    list('postgres://user:hunter2@127.0.0.1:1/x'),
    list(missing.href),
    list('mysql://user:hunter2@127.0.0.1/x'),
  ]);
  const failed = { code: 1, stdout: '' };
  expect(away).toEqual({
    ...failed,
    stderr: 'The database of DATABASE_URL is unreachable: 127.0.0.1:1\n',
  });
  expect(none).toEqual({
    ...failed,
    stderr: `The database of DATABASE_URL cannot be used: database "never_made" does not exist (${missing.host})\n`,
  });
  expect(bad).toEqual({ ...failed, stderr: expect.stringContaining('DATABASE_URL=') });
  for (const { stderr } of [away, bad]) {
    expect(stderr.trimEnd()).not.toContain('\n');
    expect(stderr).not.toContain('hunter2');
  }
});

test('one call reads from the embedded database what the one before wrote, without a service', async () => {
  const env = { DATABASE_URL: '', DATA_DIR: join(folder, 'embedded') };
  const added = await cli('servers add --name One --address 127.0.0.1:27015', env);
  expect([added.code, added.stderr]).toEqual([0, `Creating a new database in ${env.DATA_DIR}\n`]);
  expect(added.stdout).toStartWith('Added one (127.0.0.1:27015)\n');
  const [list, token] = await Promise.all([
    cli('servers list --json', env),
    cli(`tokens create --steamid64 ${aSteamId(1)} --name x`, env),
  ]);
  expect(JSON.parse(list.stdout)).toMatchObject([{ slug: 'one' }]);
  expect([token.code, isApiToken(token.stdout.trimEnd())]).toEqual([0, true]);
});

test('the embedded database stops with a command that is interrupted', async () => {
  const env = { DATA_DIR: join(folder, 'interrupted') };
  const file = join(folder, 'long.ndjson');
  const lines = Array.from({ length: 200_000 }, (_, id) => JSON.stringify({ ...LINE, source_id: `${id}` }));
  await Bun.write(file, lines.join('\n'));
  const program = startProgram('src/cli.ts', env, ['penalties', 'import', 'ndjson', file]);
  const pidFile = Bun.file(join(env.DATA_DIR, 'postgres/postmaster.pid'));
  await waitFor(async () => (await pidFile.text().catch(() => '')).includes('ready'));
  program.kill('SIGINT');
  expect([await program.exited, program.stdout()]).toEqual([130, '']);
  expect(await pidFile.exists()).toBe(false);
});
