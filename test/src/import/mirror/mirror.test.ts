import { expect, test } from 'bun:test';
import { rename } from 'node:fs/promises';
import { openSession } from '../../../../src/db/client.ts';
import { LOCKS } from '../../../../src/db/locks.ts';
import { IKS } from '../../../../src/import/iks.ts';
import { sourcebansSystem } from '../../../../src/import/sourcebans/sourcebans.ts';
import { saveSetting } from '../../../../src/queries/settings.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { importSimpleAdmin } from '../../../support/import/importers.ts';
import { BAN, createMirrors, ENDED_EARLY, MUTE } from '../../../support/import/mirror.ts';
import { storedPenalties, storedPenalty } from '../../../support/import/penalty-rows.ts';
import { createSourceFiles, editSource } from '../../../support/import/source-file.ts';
import { BASIA, SYSTEMS } from '../../../support/import/systems.ts';
import { waitFor } from '../../../support/wait.ts';

const database = await createTestDatabase();
const { db, url: databaseUrl, connection } = database;
const { clock, lines, startMirror, openMirror, nextRound, warnings, sweeps, createFile } =
  createMirrors(database);
const createSource = createSourceFiles();

test('mirrors new, changed, lifted and expired penalties', async () => {
  const source = createFile(
    `insert into sa_bans ${BAN}`,
    `insert into sa_mutes ${MUTE}`,
    `insert into sa_mutes ${MUTE}`,
  );
  const { mirror, readMetrics } = await openMirror(source.url);
  expect(await storedPenalties(db)).toHaveLength(3);

  source.run(
    `insert into sa_bans ${BAN}`,
    "update sa_bans set reason = 'Wallhack' where id = 1",
    "insert into sa_unmutes (mute_id, reason) values (1, 'Sorry'), (2, 'Panel')",
    // The second as the panel css-bans does it.
    "update sa_mutes set status = 'UNMUTED', unmute_id = case id when 1 then 1 end",
    `insert into sa_warns ${BAN}`,
  );
  await nextRound(mirror);
  expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ reason: 'Wallhack', status: 'ACTIVE' });
  expect(await storedPenalty(db, 'sa_bans', 2)).toMatchObject({ status: 'ACTIVE' });
  expect(await storedPenalty(db, 'sa_mutes', 1)).toMatchObject({ status: 'UNBANNED', liftReason: 'Sorry' });
  expect(await storedPenalty(db, 'sa_mutes', 2)).toMatchObject({ status: 'UNBANNED', liftReason: 'Panel' });
  expect(await storedPenalty(db, 'sa_warns', 1)).toMatchObject({ type: 'warn', status: 'ACTIVE' });

  source.run("update sa_warns set status = 'EXPIRED'");
  await nextRound(mirror);
  expect(await storedPenalty(db, 'sa_warns', 1)).toMatchObject({ status: 'EXPIRED' });
  expect(sweeps()).toHaveLength(1);
  expect(warnings()).toEqual([]);
  expect(await readMetrics()).toContain('community_api_mirror_up{system="simpleadmin"} 1');
  expect(await readMetrics()).toContain(
    'community_api_mirror_rows_total{system="simpleadmin",change="added"} 5',
  );
});

test('a round imports a row once that is new, active there and active here', async () => {
  const source = createFile(`insert into sa_bans ${BAN}`);
  const { mirror } = await openMirror(source.url);
  source.run(`insert into sa_bans ${BAN}`);
  await nextRound(mirror);
  expect(lines.at(-1)).toMatchObject({ msg: 'mirrored CS2-SimpleAdmin', isSweep: false, added: 1, read: 2 });
});

test('a saved state that cannot be read is begun anew, with a warning', async () => {
  const source = createFile(`insert into sa_bans ${BAN}`);
  const { mirror } = await openMirror(source.url);
  for (const state of ['{', 'null', '{"source":"x","sweptAt":"x","sourceSeconds":1,"tables":{}}']) {
    const [before, sweepsBefore] = [warnings().length, sweeps().length];
    await saveSetting(db, 'mirror.simpleadmin', state);
    await nextRound(mirror);
    expect(warnings().slice(before)).toEqual([
      'the saved state of the mirror of CS2-SimpleAdmin cannot be read: all rows are read again',
    ]);
    expect(sweeps()).toHaveLength(sweepsBefore + 1);
  }
});

test('the log says how to list the servers that a mirror found', async () => {
  const server = (id: number) =>
    `insert into sa_servers (id, hostname, address) values (${id}, 'Mirage', '203.0.113.${id}:27015')`;
  await openMirror(createFile(server(1), server(2)).url);
  expect(lines.map(({ msg }) => msg)).toContain(
    '2 servers were found in CS2-SimpleAdmin, hidden for now; list all with: bun run cli servers unhide --all',
  );
});

test('the metrics say when a round last succeeded', async () => {
  const { mirror, readMetrics } = startMirror(createFile().url);
  const lastRoundAt = await waitFor(() => mirror.health().lastRoundAt);
  expect(await readMetrics()).toContain(
    `community_api_mirror_last_success_timestamp_seconds{system="simpleadmin"} ${lastRoundAt.getTime() / 1000}\n`,
  );
});

test('a full read each night catches what the rounds miss', async () => {
  const source = createFile(
    `insert into sa_bans ${BAN.replace('12:30:00', '11:31:00')}`,
    `insert into sa_bans ${BAN.replace('12:30:00', '11:32:00')}`,
    "update sa_bans set status = 'EXPIRED'",
    `insert into sa_bans ${BAN}`,
    // Beyond the rows that each round reads again: the last ids, and those active in the source or here.
    `insert into sa_bans ${BAN.replace('(', '(id, ').replace('values (', 'values (700, ')}`,
  );
  const { mirror } = await openMirror(source.url, { timezone: 'Europe/Warsaw' });
  source.run(
    "update sa_bans set reason = 'Edited long after' where id = 1",
    'delete from sa_bans where id = 2',
  );
  await nextRound(mirror);
  expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ reason: 'Aim', status: 'EXPIRED' });
  // Four in the morning in Warsaw is three in Greenwich.
  clock.now = new Date('2026-11-22T02:59:00Z');
  await nextRound(mirror);
  expect(sweeps()).toHaveLength(1);
  clock.now = new Date('2026-11-22T03:00:00Z');
  await nextRound(mirror);
  expect(sweeps()).toHaveLength(2);
  expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ reason: 'Edited long after' });
  expect((await storedPenalty(db, 'sa_bans', 2))?.goneAt).not.toBeNull();
});

test('a round without changes writes nothing; the position of the mirror is saved every ten minutes', async () => {
  const source = createFile(`insert into sa_bans ${BAN}`, `insert into sa_mutes ${MUTE}`);
  const { mirror } = await openMirror(source.url);
  const savedAt = async () => {
    const [row] =
      await connection`select value::json ->> 'savedAt' as at from settings where key = 'mirror.simpleadmin'`;
    return row?.at;
  };
  const first = await savedAt();
  const setReadOnly = (value: string) =>
    connection.unsafe(
      `do $$ begin execute format('alter database %I set default_transaction_read_only = ${value}', current_database()); end $$`,
    );
  // Also temporary tables could not be created.
  await setReadOnly('on');
  await nextRound(mirror);
  await nextRound(mirror);
  expect(mirror.health()).toMatchObject({ isUp: true, failures: 0 });
  expect(warnings()).toEqual([]);
  expect(await savedAt()).toBe(first);
  await setReadOnly('off');
  clock.now = new Date(clock.now.getTime() + 600_000);
  await nextRound(mirror);
  expect(await savedAt()).not.toBe(first);
});

test('a penalty in force that is deleted at the source is removed within an hour of the last full read', async () => {
  const source = createFile(`insert into sa_bans ${BAN}`, `insert into sa_bans ${BAN}`);
  source.run('update sa_bans set duration = 0');
  const { mirror } = await openMirror(source.url);
  source.run('delete from sa_bans where id = 1');
  await nextRound(mirror);
  expect(sweeps()).toHaveLength(1);
  clock.now = new Date('2026-11-21T13:00:00Z');
  await nextRound(mirror);
  expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ status: 'UNBANNED', liftedBySteamId: null });
  expect(await storedPenalty(db, 'sa_bans', 2)).toMatchObject({ status: 'ACTIVE', goneAt: null });
  await nextRound(mirror);
  expect(sweeps()).toHaveLength(2);
});

test('a penalty that is made active again at the source is active here after a round', async () => {
  const source = createFile(...ENDED_EARLY);
  const { mirror } = await openMirror(source.url);
  for (const table of ['sa_bans', 'sa_mutes', 'sa_warns']) {
    expect(await storedPenalty(db, table, 1)).toMatchObject({ status: 'EXPIRED' });
    source.run(`update ${table} set status = 'ACTIVE' where id = 1`);
  }
  await nextRound(mirror);
  for (const table of ['sa_bans', 'sa_mutes', 'sa_warns'])
    expect(await storedPenalty(db, table, 1)).toMatchObject({ status: 'ACTIVE' });
  expect(sweeps()).toHaveLength(1);
});

test('the next rounds look at the active rows that a round had no room for', async () => {
  const source = createFile(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 6000)
    insert into sa_warns (player_steamid, admin_steamid, admin_name, reason, duration, created, status)
    select 76561198000000000 + i, '0', 'Console', 'Aim', 0, '2026-11-01 10:00:00',
      case when i in (3, 5400) then 'EXPIRED' else 'ACTIVE' end from n`);
  await openMirror(source.url);
  source.run("update sa_warns set status = 'ACTIVE' where id in (3, 5400)");
  for (const id of [3, 5400])
    await waitFor(async () => (await storedPenalty(db, 'sa_warns', id))?.status === 'ACTIVE');
  expect(sweeps()).toHaveLength(1);
});

test('a source that is away is one log line, and all goes on when it is back', async () => {
  const source = createFile();
  const { mirror, readMetrics } = await openMirror(source.url);
  await rename(source.path, `${source.path}.away`);
  await waitFor(() => mirror.health().failures >= 3);
  expect(warnings()).toEqual(['mirroring CS2-SimpleAdmin failed: retrying']);
  expect(await readMetrics()).toContain('community_api_mirror_up{system="simpleadmin"} 0');
  await rename(`${source.path}.away`, source.path);
  source.run(`insert into sa_bans ${BAN}`);
  await nextRound(mirror);
  expect(await storedPenalties(db)).toHaveLength(1);
  expect(lines.map((line) => line.msg)).toContain('mirroring CS2-SimpleAdmin works again');
});

test('times that nobody can keep and servers that nobody can reach stop nothing, and are named once', async () => {
  const source = createFile(
    "insert into sa_servers (hostname, address) values ('Nowhere', 'some where:27015')",
    `insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created, ends, server_id)
    values ('76561198000000001', '0', 'Console', 'bad', 2000000000, '0000-00-00 00:00:00', '2026-11-21 12:30:00', null),
      ('76561198000000001', '0', 'Console', 'good', 60, '2026-11-21 11:30:00', '2026-11-21 12:30:00', 1)`,
  );
  const { mirror } = await openMirror(source.url);
  await nextRound(mirror);
  expect(mirror.health()).toMatchObject({ isUp: true, failures: 0 });
  expect(await storedPenalties(db)).toMatchObject([{ reason: 'good', serverId: 0 }]);
  expect(warnings()).toEqual([
    'a server of CS2-SimpleAdmin could not be matched',
    'a row of CS2-SimpleAdmin was set aside',
  ]);
});

test('one process mirrors; another takes over and goes on where it was', async () => {
  const source = createFile(`insert into sa_bans ${BAN}`);
  const { mirror: first } = await openMirror(source.url);
  const { mirror: second } = startMirror(source.url);
  await nextRound(first);
  expect(second.health()).toMatchObject({ isMirroring: false, lastRoundAt: undefined });
  await first.stop();
  source.run(`insert into sa_bans ${BAN}`);
  await waitFor(async () => (await storedPenalties(db)).length === 2);
  expect(second.health().isMirroring).toBe(true);
  expect(sweeps()).toHaveLength(1);
});

test('says once that another import keeps it out, and that it works again', async () => {
  const source = createFile(`insert into sa_bans ${BAN}`);
  const other = openSession(databaseUrl, 'import simpleadmin');
  await other`select pg_advisory_lock(${LOCKS.importSource}, hashtext('simpleadmin'))`;
  const [holder] = await other`select pg_backend_pid() as pid`;
  const { mirror, readMetrics } = startMirror(source.url);
  await waitFor(() => mirror.health().waitsFor);
  await rename(source.path, `${source.path}.away`);
  await waitFor(() => mirror.health().failures > 0);
  await rename(`${source.path}.away`, source.path);
  const { waitsFor } = await waitFor(() => mirror.health().waitsFor && mirror.health());
  expect(waitsFor).toMatch(
    new RegExp(
      `^another import of simpleadmin is running, since .* \\(PostgreSQL process ${holder?.pid}\\)$`,
    ),
  );
  expect(mirror.health()).toMatchObject({ isUp: false });
  expect(await readMetrics()).toContain('community_api_mirror_up{system="simpleadmin"} 0');
  await other.end();
  await waitFor(() => mirror.health().isUp);
  expect(mirror.health()).toMatchObject({ waitsFor: undefined, failures: 0 });
  const waits = `mirroring CS2-SimpleAdmin waits: ${waitsFor}`;
  expect(lines.map(({ msg }) => msg).filter((msg) => msg.startsWith('mirroring'))).toEqual([
    waits,
    'mirroring CS2-SimpleAdmin failed: retrying',
    waits,
    'mirroring CS2-SimpleAdmin works again',
  ]);
});

test('a failure is reported although another process mirrored before', async () => {
  const source = createFile();
  const first = await openMirror(source.url, { intervalSeconds: 60 });
  await first.mirror.stop();
  const second = await openMirror(source.url);
  await rename(source.path, `${source.path}.away`);
  await waitFor(() => second.mirror.health().failures > 0);
  for (const { readMetrics } of [first, second])
    expect(await readMetrics()).toContain('community_api_mirror_up{system="simpleadmin"} 0');
});

test('another database under its name is not mirrored: said in the log and in its health, until an operator decides', async () => {
  const first = createFile(`insert into sa_bans ${BAN}`);
  const second = createFile(`insert into sa_bans ${BAN.replace('Aim', 'of another community')}`);
  const { mirror: before } = await openMirror(first.url);
  await before.stop();

  const { mirror, readMetrics } = startMirror(second.url);
  await waitFor(() => mirror.health().failures >= 3);
  const refusal =
    'SIMPLEADMIN_URL names a different database from the one its penalties came from: nothing is mirrored';
  expect(mirror.health()).toMatchObject({ isUp: false, refusal, lastRoundAt: undefined });
  expect(await readMetrics()).toContain('community_api_mirror_up{system="simpleadmin"} 0');
  expect(await storedPenalties(db)).toMatchObject([{ reason: 'Aim' }]);
  const said = lines.filter((line) => line.level >= 40);
  expect(said).toMatchObject([
    {
      level: 50,
      source: 'simpleadmin',
      previous: `CS2-SimpleAdmin at ${first.path}`,
      current: `CS2-SimpleAdmin at ${second.path}`,
    },
  ]);
  expect(said[0]?.msg).toStartWith(`${refusal}: set SIMPLEADMIN_SOURCE`);

  // Under its own source name, it is mirrored beside the first.
  const beside = openMirror(second.url, { source: 'second' });
  await mirror.stop();
  await beside;
  expect((await storedPenalties(db)).map((row) => `${row.source} ${row.reason}`).sort()).toEqual([
    'second of another community',
    'simpleadmin Aim',
  ]);
});

test('a database that moved is mirrored on once an operator said so, without a restart', async () => {
  const old = createFile(`insert into sa_bans ${BAN}`);
  const moved = createFile(`insert into sa_bans ${BAN}`, `insert into sa_bans ${BAN}`);
  const { mirror: before } = await openMirror(old.url);
  await before.stop();
  const { mirror } = startMirror(moved.url);
  await waitFor(() => mirror.health().refusal);
  await importSimpleAdmin(
    { db, databaseUrl, now: () => clock.now, actor: 'operator' },
    { url: moved.url, replacesSource: true },
  );
  await waitFor(() => mirror.health().isUp);
  expect(mirror.health().refusal).toBeUndefined();
  moved.run(`insert into sa_bans ${BAN}`);
  await nextRound(mirror);
  expect(await storedPenalties(db)).toHaveLength(3);
  expect(lines.map((line) => line.msg)).toContain('mirroring CS2-SimpleAdmin works again');
});

test('stops in the middle of a full read', async () => {
  const source = createFile(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000)
    insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created)
    select 76561198000000000 + i, '0', 'Console', 'Aim', 0, '2026-11-01 10:00:00' from n`);
  const { mirror } = startMirror(source.url);
  await waitFor(async () => (await connection`select from penalties limit 1`).length > 0);
  await mirror.stop();
  const [row] = await connection`select count(*)::int as n from penalties`;
  expect(row?.n).toBeLessThan(50_000);
  expect(warnings()).toEqual([]);
});

/** The source's own clock decides what is in force there. */
const NOW = Math.floor(Date.now() / 1000);
const listStored = async () =>
  (await storedPenalties(db))
    .map(({ sourceTable, sourceId, type, status }) => [sourceTable, sourceId, type, status].join(' '))
    .sort();

test('mirrors SourceBans++: new, lifted and split penalties, and halves that become one', async () => {
  const { schema, add } = SYSTEMS['SourceBans++'];
  const withPrefix = (...statements: string[]) => statements.join(';').replaceAll('sb_', 'x_');
  const addBan = (id: number) => add('ban', { id, created: NOW - 60 });
  const addComm = (id: number, type: number, player: string) =>
    add('mute', { id, created: NOW - 60, player }, { type });
  const mutes = [addComm(1, 1, 'STEAM_0:1:1'), addComm(2, 2, 'STEAM_0:1:1'), addComm(3, 1, 'STEAM_0:1:2')];
  const url = createSource(withPrefix(schema, addBan(1), addBan(2), ...mutes));
  const { mirror } = await openMirror(url, {
    system: sourcebansSystem({ prefix: 'x' }),
    source: 'sourcebans',
  });
  expect(await listStored()).toEqual([
    'bans 1 ban ACTIVE',
    'bans 2 ban ACTIVE',
    'comms 1 silence ACTIVE',
    'comms 3 mute ACTIVE',
  ]);
  const lift = `RemoveType = 'U', RemovedBy = 3, RemovedOn = ${NOW}`;
  editSource(
    url,
    withPrefix(addBan(9000), addComm(9000, 2, 'STEAM_0:1:2')),
    `update x_bans set ${lift} where bid = 1; update x_comms set ${lift} where bid = 2`,
  );
  await nextRound(mirror);
  expect(await listStored()).toEqual([
    'bans 1 ban UNBANNED',
    'bans 2 ban ACTIVE',
    'bans 9000 ban ACTIVE',
    'comms 1 mute ACTIVE',
    'comms 2 gag UNBANNED',
    'comms 3 silence ACTIVE',
  ]);
  // In force again at the source, far from the newest ids.
  const unlift = 'RemoveType = null, RemovedBy = null, RemovedOn = null';
  editSource(url, `update x_bans set ${unlift} where bid = 1; update x_comms set ${unlift} where bid = 2`);
  await nextRound(mirror);
  expect(await listStored()).toEqual([
    'bans 1 ban ACTIVE',
    'bans 2 ban ACTIVE',
    'bans 9000 ban ACTIVE',
    'comms 1 silence ACTIVE',
    'comms 3 silence ACTIVE',
  ]);
  expect(sweeps()).toHaveLength(1);
  expect(warnings()).toEqual([]);
});

test('mirrors several systems at once, each with separate health and metrics', async () => {
  const { schema, add, lift } = SYSTEMS['IKS Admin'];
  const bans = [1, 2].map((id) => add('ban', { id, created: NOW - 60 }));
  const iks = createSource(schema, ...bans);
  const first = await openMirror(createFile(`insert into sa_bans ${BAN}`).url);
  const second = await openMirror(iks, { system: IKS, source: 'iks' });
  const system = sourcebansSystem({});
  const broken = startMirror('sqlite:/nowhere.sqlite', { system, source: 'sourcebans' });
  await waitFor(() => broken.mirror.health().failures > 0);
  editSource(
    iks,
    lift('ban', 1, { by: BASIA, at: NOW, reason: 'Appeal' }),
    'update iks_bans set deleted_at = 1 where id = 2',
  );
  await nextRound(second.mirror);
  expect(await listStored()).toEqual([
    'iks_bans 1 ban UNBANNED',
    'iks_bans 2 ban ACTIVE',
    'sa_bans 1 ban ACTIVE',
  ]);
  expect([first, second, broken].map(({ mirror }) => mirror.health().isUp)).toEqual([true, true, false]);
  expect(await second.readMetrics()).toContain('community_api_mirror_up{system="iks"} 1');
  expect(await broken.readMetrics()).toContain('community_api_mirror_up{system="sourcebans"} 0');
  expect(warnings()).toEqual(['mirroring SourceBans++ failed: retrying']);
});
