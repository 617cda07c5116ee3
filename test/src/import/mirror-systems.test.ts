import { expect, test } from 'bun:test';
import { IKS } from '../../../src/import/iks.ts';
import { sourcebansSystem } from '../../../src/import/sourcebans/sourcebans.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { BAN, createMirrors } from '../../support/import/mirror.ts';
import { storedPenalties } from '../../support/import/penalty-rows.ts';
import { createSourceFiles, editSource } from '../../support/import/source-file.ts';
import { waitFor } from '../../support/wait.ts';

const database = await createTestDatabase();
const { db } = database;
const { startMirror, nextRound, warnings, sweeps, createFile } = createMirrors(database);
const createSource = createSourceFiles();
/** The source's own clock decides what is in force there. */
const NOW = Math.floor(Date.now() / 1000);

const stored = async () =>
  (await storedPenalties(db)).map(({ sourceTable, sourceId, type, status }) =>
    [sourceTable, sourceId, type, status].join(' '),
  );

function createSourcebans(prefix: string): string {
  const columns = `bid integer primary key, authid text default '', created integer default ${NOW - 60}, length integer default 0,
    ends integer default 0, type integer default 0, RemoveType text, RemovedBy integer, RemovedOn integer, reason text`;
  return createSource(`create table ${prefix}bans (${columns}); create table ${prefix}comms (${columns});
    insert into ${prefix}bans (bid, authid) values (1, 'STEAM_0:1:1'), (2, 'STEAM_0:1:2');
    insert into ${prefix}comms (bid, authid, type) values (1, 'STEAM_0:1:1', 1), (2, 'STEAM_0:1:1', 2), (3, 'STEAM_0:1:2', 1)`);
}

test('mirrors SourceBans++: new, lifted and split penalties, and halves that become one', async () => {
  const url = createSourcebans('x_');
  const { mirror } = startMirror(url, { system: sourcebansSystem({ prefix: 'x' }), source: 'sourcebans' });
  await waitFor(() => mirror.health().lastRoundAt);
  expect(await stored()).toEqual([
    'bans 1 ban ACTIVE',
    'bans 2 ban ACTIVE',
    'comms 1 silence ACTIVE',
    'comms 3 mute ACTIVE',
  ]);
  editSource(
    url,
    "insert into x_bans (bid, authid) values (3, 'STEAM_0:1:3')",
    `update x_bans set RemoveType = 'U', RemovedBy = 3, RemovedOn = ${NOW} where bid = 1`,
    `update x_comms set RemoveType = 'U', RemovedBy = 3, RemovedOn = ${NOW} where bid = 2`,
    "insert into x_comms (bid, authid, type) values (4, 'STEAM_0:1:2', 2)",
  );
  await nextRound(mirror);
  expect((await stored()).sort()).toEqual([
    'bans 1 ban UNBANNED',
    'bans 2 ban ACTIVE',
    'bans 3 ban ACTIVE',
    'comms 1 mute ACTIVE',
    'comms 2 gag UNBANNED',
    'comms 3 silence ACTIVE',
  ]);
  // In force again at the source, far from the newest ids.
  editSource(
    url,
    'update x_bans set bid = 9000 where bid = 3',
    'update x_bans set RemoveType = null, RemovedBy = null, RemovedOn = null where bid = 1',
    'update x_comms set RemoveType = null, RemovedBy = null, RemovedOn = null where bid = 2',
  );
  await nextRound(mirror);
  expect((await stored()).sort()).toEqual([
    'bans 1 ban ACTIVE',
    'bans 2 ban ACTIVE',
    'bans 3 ban ACTIVE',
    'bans 9000 ban ACTIVE',
    'comms 1 silence ACTIVE',
    'comms 3 silence ACTIVE',
  ]);
  expect(sweeps()).toHaveLength(1);
  expect(warnings()).toEqual([]);
});

test('mirrors several systems at once, each with separate health and metrics', async () => {
  const iks =
    createSource(`create table iks_bans (id integer primary key, steam_id text, duration integer, created_at integer,
      end_at integer, unbanned_by integer, unban_reason text, updated_at integer, deleted_at integer);
    insert into iks_bans (id, steam_id, duration, created_at, end_at) values
      (1, '76561198000000001', 0, ${NOW - 60}, 0), (2, '76561198000000002', 0, ${NOW - 60}, 0)`);
  const simpleAdmin = createFile();
  simpleAdmin.run(`insert into sa_bans ${BAN}`);
  const first = startMirror(simpleAdmin.url);
  const second = startMirror(iks, { system: IKS, source: 'iks' });
  const broken = startMirror('sqlite:/nowhere.sqlite', {
    system: sourcebansSystem({}),
    source: 'sourcebans',
  });
  await waitFor(() => first.mirror.health().isUp && second.mirror.health().isUp);
  await waitFor(() => broken.mirror.health().failures > 0);
  editSource(
    iks,
    `update iks_bans set unbanned_by = 1, unban_reason = 'Appeal' where id = 1`,
    'update iks_bans set deleted_at = 1 where id = 2',
  );
  await nextRound(second.mirror);
  expect(await stored()).toEqual([
    'iks_bans 1 ban UNBANNED',
    'iks_bans 2 ban ACTIVE',
    'sa_bans 1 ban ACTIVE',
  ]);
  expect([first, second, broken].map(({ mirror }) => mirror.health().isUp)).toEqual([true, true, false]);
  expect((await second.metrics.render()).text).toContain('community_api_mirror_up{system="iks"} 1');
  expect((await broken.metrics.render()).text).toContain('community_api_mirror_up{system="sourcebans"} 0');
  expect(warnings()).toEqual(['mirroring SourceBans++ failed: retrying']);
});
