import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { importNdjson } from '../../../src/import/ndjson/ndjson.ts';
import { importIks, importSimpleAdmin, importSourcebans } from '../../support/import/importers.ts';
import { openImports, storedPenalties } from '../../support/import/penalty-rows.ts';
import { simpleAdminSqliteSchema } from '../../support/import/simple-admin-schema.ts';

const { db, deps, createFile } = await openImports();
const NOW = Date.parse('2026-11-21T12:00:00Z') / 1000;
const PLAYER = '76561198000000001';

/** Sources of two mutes, what makes them unreadable, and what then lifts the first. */
const SOURCES = {
  'SourceBans++': {
    create: () =>
      createFile(`create table sb_admins (aid integer primary key, user text, authid text);
        insert into sb_admins values (3, 'Basia', 'STEAM_0:0:5');
        create table sb_comms (bid integer primary key, authid text, created integer, length integer, ends integer, type integer,
          RemoveType text, RemovedBy integer, RemovedOn integer, ureason text, reason text, aid integer);
        insert into sb_comms (bid, authid, created, length, type)
          values (1, 'STEAM_0:1:1', ${NOW - 60}, 0, 1), (2, 'STEAM_0:1:2', ${NOW - 60}, 0, 1)`),
    spoil: 'update sb_comms set type = 9',
    lift: `update sb_comms set RemoveType = 'U', RemovedBy = 3, RemovedOn = ${NOW}, ureason = 'Appeal' where bid = 1`,
    run: (url: string, isDryRun = false) => importSourcebans(deps, { url, isDryRun }),
  },
  'IKS Admin': {
    create: () =>
      createFile(`create table iks_admins (id integer primary key, name text, steam_id text);
        insert into iks_admins values (3, 'Basia', '76561197960265738');
        create table iks_comms (id integer primary key, steam_id text, mute_type integer, duration integer, created_at integer,
          end_at integer, admin_id integer, unbanned_by integer, unban_reason text, updated_at integer);
        insert into iks_comms (id, steam_id, mute_type, duration, created_at, end_at)
          values (1, '${PLAYER}', 0, 0, ${NOW - 60}, 0), (2, '${PLAYER}', 0, 0, ${NOW - 60}, 0)`),
    spoil: "update iks_comms set steam_id = 'STEAM_ID_PENDING'",
    lift: `update iks_comms set unbanned_by = 3, unban_reason = 'Appeal', updated_at = ${NOW} where id = 1`,
    run: (url: string, isDryRun = false) => importIks(deps, { url, isDryRun }),
  },
  'CS2-SimpleAdmin': {
    create: () =>
      createFile(`${simpleAdminSqliteSchema({ migration: 11 })};
        insert into sa_admins (id, player_name, player_steamid) values (3, 'Basia', '76561197960265738');
        insert into sa_unmutes (id, mute_id, admin_id, reason, date) values (7, 1, 3, 'Appeal', '2026-11-21 12:00:00');
        insert into sa_mutes (player_steamid, admin_steamid, admin_name, reason, duration, created, type)
          values ('${PLAYER}', '0', '', '', 0, '2026-11-21 11:59:00', 'MUTE'), ('${PLAYER}', '0', '', '', 0, '2026-11-21 11:59:00', 'MUTE')`),
    spoil: 'update sa_mutes set duration = -1',
    lift: "update sa_mutes set status = 'UNMUTED', unmute_id = 7 where id = 1",
    run: (url: string, isDryRun = false) => importSimpleAdmin(deps, { url, isDryRun }),
  },
};

test.each(Object.entries(SOURCES))(
  '%s: a row that can no longer be read is lifted all the same, or reported as out of date',
  async (_, { create, spoil, lift, run }) => {
    const url = create();
    await run(url);
    expect(await storedPenalties(db)).toMatchObject([{ status: 'ACTIVE' }, { status: 'ACTIVE' }]);
    edit(url, spoil);
    const spoiled = await run(url);
    expect(spoiled).toMatchObject({ setAside: 2, outdated: 2, changed: 0, gone: 0 });
    expect(spoiled.outdatedRows).toEqual(spoiled.rowsSetAside);

    edit(url, lift);
    for (const isDryRun of [true, false]) {
      const lifted = await run(url, isDryRun);
      expect(lifted).toMatchObject({ changed: 1, setAside: 1, outdated: 1, gone: 0 });
      expect(lifted.outdatedRows).toMatchObject([{ id: '2' }]);
      expect(lifted.warnedRows).toMatchObject([
        { id: '1', reason: expect.stringContaining('only that it is over was imported: ') },
      ]);
    }
    expect(await storedPenalties(db)).toMatchObject([
      {
        type: 'mute',
        status: 'UNBANNED',
        liftedAt: new Date(NOW * 1000),
        liftedByName: 'Basia',
        liftReason: 'Appeal',
      },
      { status: 'ACTIVE' },
    ]);
    expect(await run(url)).toMatchObject({ changed: 0, outdated: 1, gone: 0 });
  },
);

test('a line of JSON that can no longer be read is lifted by its source_id', async () => {
  const line = { penalty_type: 'ban', player_steamid: PLAYER, created: '2026-11-21T11:30:00Z' };
  const run = (...lines: object[]) =>
    importNdjson(deps, {
      chunks: new Blob(lines.map((fields) => `${JSON.stringify({ ...line, ...fields })}\n`)).stream(),
    });
  await run({ source_id: 'a' }, { source_id: 'b' }, {});
  const lifted = { duration: -1, unbanned_at: '2026-11-21T11:40:00Z' };
  const summary = await run({ source_id: 'a', ...lifted }, { source_id: 'b', duration: -1 }, lifted);
  expect(summary).toMatchObject({ changed: 1, setAside: 2, outdated: 1 });
  expect(summary.outdatedRows).toMatchObject([{ table: 'line', id: '2' }]);
  expect((await storedPenalties(db)).map((row) => [row.sourceId?.length, row.status])).toEqual([
    [1, 'UNBANNED'],
    [1, 'ACTIVE'],
    [43, 'ACTIVE'],
  ]);
});

function edit(url: string, statement: string): void {
  const file = new Database(url.replace('sqlite:', ''));
  file.run(statement);
  file.close();
}
