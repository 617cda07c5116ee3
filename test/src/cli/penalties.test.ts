import { beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { aSteamId, insertPenalties, insertServer } from '../../support/database/builders.ts';
import { LINE } from '../../support/import/penalty-rows.ts';
import { createSourceFiles, editSource } from '../../support/import/source-file.ts';
import { SYSTEMS } from '../../support/import/systems.ts';
import { openCli } from '../../support/service/cli.ts';
import { startProgram } from '../../support/service/program.ts';
import { waitFor } from '../../support/wait.ts';

const { database, db, folder, env, cli, succeedWithJson, expectRefusals } = await openCli();
const { connection } = database;
const createSource = createSourceFiles();
const { schema, add, addServer, tables } = SYSTEMS['CS2-SimpleAdmin'];
beforeEach(async () => {
  await connection`truncate penalties, penalty_sources`;
});

const countPenalties = () => db.$count(penalties);

const line = (values: object) => JSON.stringify({ ...LINE, ...values });

test('penalties import ndjson: good lines are kept, bad ones named with their number, a summary ends it', async () => {
  const file = join(folder, 'penalties.ndjson');
  const lines = [
    line({ source_id: 1 }),
    'junk',
    line({ source_id: 2, duration: -1 }),
    line({ source_id: 3, player_name: 'Âàñÿ' }),
  ];
  await Bun.write(file, lines.join('\n'));
  const first = await cli(`penalties import ndjson ${file}`);
  expect(first).toMatchObject({ code: 0 });
  expect(first.stdout).toBe(
    'Imported from ndjson: 4 read, 2 added, 0 changed, 0 unchanged, 0 gone at the source, 2 set aside\n' +
      '1 row with text that looks like Windows-1251 in a latin1 table: it cannot be repaired\n',
  );
  expect(first.stderr).toContain('set aside: line 2: it is not JSON');
  expect(first.stderr).toContain('set aside: line 3: the duration -1 is negative\n');
  const again = await cli(`--json penalties import ndjson ${file}`);
  expect(JSON.parse(again.stdout)).toMatchObject({
    ...{ added: 0, changed: 0, unchanged: 2, setAside: 2 },
    rowsSetAside: [
      { table: 'line', id: '2' },
      { table: 'line', id: '3', reason: 'the duration -1 is negative' },
    ],
  });
  expect(await countPenalties()).toBe(2);
  const audited = await connection`select action, subject, details from audit_log order by id`;
  expect(audited[0]).toEqual({
    action: 'penalties.imported',
    subject: 'ndjson',
    details: { read: 4, added: 2, changed: 0, gone: 0, setAside: 2, serversAdded: [] },
  });
});

test('penalties import ndjson - reads standard input', async () => {
  const args = ['--json', 'penalties', 'import', 'ndjson', '-', '--dry-run'];
  const child = Bun.spawn(['bun', 'src/cli.ts', ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdin: new Blob([line({}), '\n', line({ reason: 'other' })]),
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const summary = JSON.parse(await new Response(child.stdout).text());
  expect(summary).toMatchObject({ isDryRun: true, read: 2, added: 2 });
  expect(await child.exited).toBe(0);
  expect(await countPenalties()).toBe(0);
});

test.each(['sourcebans', 'iks', 'ndjson', 'simpleadmin', 'nothing'])(
  'penalties import %s without a source exits with 2',
  async (kind) => {
    expect(await cli(`penalties import ${kind}`)).toMatchObject({ code: 2 });
  },
);

test.each([
  [`ndjson ${join(folder, 'bad.ndjson')}`, 'the file is not NDJSON'],
  ['ndjson /nowhere/x.ndjson', 'There is no file "/nowhere/x.ndjson"'],
  ['iks --url mysql://root:secret@127.0.0.1:1/x', 'Cannot read mysql://127.0.0.1:1/x: '],
  ['simpleadmin --url sqlite:/nowhere/x.sqlite --timezone Mars', '"Mars" is not a time zone'],
  ['simpleadmin --url sqlite:/nowhere/x.sqlite', 'there is no such file'],
  ['iks --url mysql://root:50%secret@127.0.0.1:1/x', 'write % as %25'],
  ['sourcebans --url mysql://root:12/secret@127.0.0.1:1/x', '/ as %2F'],
  ['simpleadmin --url mysql://root:secret@127.0.0.1:1/x?ssl=true', 'unknown parameter "ssl"'],
])('penalties import %s exits with 1 and one line that tells no secret', async (source, reason) => {
  await Bun.write(join(folder, 'bad.ndjson'), 'junk\n');
  const { code, stderr } = await cli(`penalties import ${source}`);
  expect(code).toBe(1);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(stderr).toContain(reason);
  expect(stderr).not.toContain('secret');
});

test('an import names the servers it added, and how they are listed', async () => {
  const url = createSource(schema, addServer({ id: 1, address: '203.0.113.9:27015' }));
  const { stdout } = await cli(`penalties import simpleadmin --url ${url} --source servers`);
  expect(stdout).toEndWith(
    'Added servers, hidden for now: Mirage\nList them with `servers unhide --all`, or one with `servers unhide SLUG`\n',
  );
});

test('penalties import says how many unreadable rows an earlier import could read', async () => {
  const url = createSource(schema, add('ban', { id: 1 }), add('ban', { id: 2 }));
  await cli(`penalties import simpleadmin --url ${url}`);
  editSource(url, `update ${tables.ban} set duration = -1 where id = 1`);
  const outdated = await cli(`penalties import simpleadmin --url ${url}`);
  expect(outdated.stderr).toContain('set aside, stays as it was: sa_bans 1: the duration -1 is negative\n');
  expect(outdated.stdout).toEndWith(
    '1 of the rows set aside could be read by an earlier import: their penalties stay as they were\n',
  );
});

test('penalties import fails when it holds removals back, and mirrors accept when nothing is held', async () => {
  const bans = Array.from({ length: 21 }, (_, index) => add('ban', { id: index + 1 }));
  const url = createSource(schema, ...bans);
  const importing = `penalties import simpleadmin --url ${url}`;
  await cli(importing);
  editSource(url, `delete from ${tables.ban}`);
  const dryRun = await cli(`--json ${importing} --dry-run`);
  expect(dryRun.code).toBe(0);
  expect(JSON.parse(dryRun.stdout)).toMatchObject({ held: 21, gone: 0 });
  const held = await cli(importing);
  expect(held.code).toBe(1);
  expect(held.stdout).toContain(
    '0 gone at the source, 0 set aside\n21 penalties are no longer at the source',
  );
  const accepted = await cli(`${importing} --accept-removals`);
  expect(accepted).toMatchObject({ code: 0, stdout: expect.stringContaining('21 gone at the source') });

  await expectRefusals({
    'mirrors accept simpleadmin': 'nothing of simpleadmin is held back',
    'mirrors accept uno': 'the name "uno" is not known: use simpleadmin, sourcebans, iks, vipcore, discord',
  });
  await connection`insert into held_removals (system, kind, subject, removals, since) values
    ('iks', 'penalties', 'iks_bans', 4000, now()), ('iks', 'penalties', 'iks_comms', 316, now()), ('iks', 'flags', 'has_svip', 56, now())`;
  expect(await succeedWithJson('mirrors accept iks')).toEqual({ has_svip: 56, penalties: 4316 });
  expect(await connection`select from held_removals where is_accepted`).toHaveLength(3);
});

test('penalties import fails when a table is missing, and names it', async () => {
  const url = createSource(schema, add('ban', { id: 1 }));
  const importing = `penalties import simpleadmin --url ${url}`;
  await cli(importing);
  editSource(url, 'drop table sa_warns');
  expect(await cli(`${importing} --dry-run`)).toMatchObject({ code: 0 });
  const missing = await cli(importing);
  expect(missing).toMatchObject({
    code: 1,
    stdout: expect.stringContaining(
      'Missing, or not readable: sa_warns; what came from there stays as it is',
    ),
  });
  expect(await cli(`${importing} --accept-removals`)).toMatchObject({ code: 0 });
  expect(await cli(importing)).toMatchObject({ code: 0 });
});

test('an import that is killed loses nothing, and repeating it completes it', async () => {
  const rows = 30_000;
  const url =
    createSource(`${schema}; with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
    insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created, ends)
    select 76561198000000000 + i, '0', 'Console', 'Aim', 0, '2026-11-01 10:00:00', null from n`);
  const importing = `penalties import simpleadmin --url ${url}`;
  const killed = startProgram('src/cli.ts', env, importing.split(' '));
  await waitFor(async () => (await countPenalties()) > 0);
  killed.kill('SIGKILL');
  await killed.exited;
  // Its connection may still be finishing a statement, which counts as a whole or not at all.
  await waitFor(async () => {
    const [row] = await connection`select count(*)::int as n from pg_stat_activity
        where application_name like 'import %' and datname = current_database()`;
    return row?.n === 0;
  });
  const kept = await countPenalties();
  expect(kept).toBeGreaterThan(0);
  expect(kept % 10_000).toBe(0);

  const repeated = await cli(`--json ${importing}`);
  expect(JSON.parse(repeated.stdout)).toMatchObject({
    ...{ read: rows, added: rows - kept, changed: 0, unchanged: kept, gone: 0 },
  });
  const [check] = await connection`select count(distinct (source_table, source_id))::int as rows,
    (select sum(n)::int from penalty_tallies, unnest(counts) n where scope = 0 and period = 0) as tallied from penalties`;
  expect(check).toEqual({ rows, tallied: rows });
});

test('penalties list: the newest first, by every filter, and how many are older', async () => {
  const { id: serverId } = await insertServer(db, { slug: 'listed', name: 'Listed' });
  const lately = new Date(Date.now() - 86_400_000);
  const lifted = { createdAt: new Date('2026-02-01T00:00:00Z'), adminSteamId: aSteamId(901), serverId: 0 };
  await insertPenalties(db, [
    { reason: 'Old', createdAt: new Date('2026-01-01T00:00:00Z'), playerName: 'Eve\u001b[2J' },
    { type: 'gag', reason: 'New', createdAt: lately, serverId, playerSteamId: aSteamId(2) },
    { type: 'mute', status: 'UNBANNED', reason: 'Lifted', ...lifted },
  ]);
  const list = async () => {
    const { code, stdout, stderr } = await cli('penalties list');
    expect([code, stderr]).toEqual([0, '']);
    return stdout.trimEnd().split('\n').slice(1);
  };
  expect(await list()).toEqual([
    expect.stringMatching(/^\d+ +gag +active +Rzeźnik +\d{17} +permanent +.* UTC +Ala +listed +New$/),
    expect.stringMatching(/^\d+ +mute +unbanned +.* no server +Lifted$/),
    expect.stringMatching(/^\d+ +ban +active +Eve\\u001b\[2J +.* Old$/),
  ]);
  for (const [options, ...reasons] of [
    ['--player [U:1:39734274]', 'New'],
    [`--admin ${aSteamId(901)}`, 'Lifted'],
    ['--server listed', 'New'],
    ['--type "ban, MUTE"', 'Lifted', 'Old'],
    ['--status active', 'New', 'Old'],
    ['--since 7d', 'New'],
    ['--since 2026-02-01', 'New', 'Lifted'],
    ['--type ban --since 2026-02-01'],
  ]) {
    const rows: { reason: string }[] = await succeedWithJson(`penalties list ${options}`);
    expect([options, ...rows.map(({ reason }) => reason)]).toEqual([options, ...reasons]);
  }
  await expectRefusals({
    'penalties list --type kick': /--type "kick" is not known: use ban, mute, gag, silence, warn/,
    'penalties list --status gone': /status "gone" is not known/,
    'penalties list --server nuke': /There is no server "nuke"/,
    'penalties list --since yesterday': /--since "yesterday" isn't valid: use a date such as 2026-11-01/,
    'penalties list --since 2026-02-30': /--since "2026-02-30" isn't valid: use a date such as 2026-11-01/,
  });
  await insertPenalties(
    db,
    Array.from({ length: 98 }, () => ({ createdAt: lately })),
  );
  expect((await list()).at(-1)).toBe('… and 1 older');
});
