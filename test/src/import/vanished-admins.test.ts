import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { importNdjson } from '../../../src/import/ndjson/ndjson.ts';
import { importIks, importSimpleAdmin, importSourcebans } from '../../support/import/importers.ts';
import { openImports, storedPenalties } from '../../support/import/penalty-rows.ts';
import { simpleAdminSqliteSchema } from '../../support/import/simple-admin-schema.ts';

const { db, connection, deps, createFile } = await openImports();
const NOW = Date.parse('2026-11-21T12:00:00Z') / 1000;
const PLAYER = '76561198000000001';
const BASIA = '76561197960265738';

/** Sources of one active penalty and one that was lifted; Basia gave and lifted both. */
const SOURCES = {
  'SourceBans++': {
    create: () =>
      createFile(`create table sb_admins (aid integer primary key, user text, authid text);
        insert into sb_admins values (3, 'Basia', 'STEAM_0:0:5');
        create table sb_bans (bid integer primary key, authid text, created integer, length integer, aid integer,
          RemoveType text, RemovedBy integer, RemovedOn integer, ureason text, reason text);
        insert into sb_bans values
          (1, 'STEAM_0:1:1', ${NOW - 60}, 0, 3, null, null, null, null, ''),
          (2, 'STEAM_0:1:1', ${NOW - 60}, 0, 3, 'U', 3, ${NOW}, 'Appeal', '')`),
    forget: 'delete from sb_admins',
    run: (url: string, isDryRun = false) => importSourcebans(deps, { url, isDryRun }),
  },
  'IKS Admin': {
    create: () =>
      createFile(`create table iks_admins (id integer primary key, name text, steam_id text);
        insert into iks_admins values (3, 'Basia', '${BASIA}');
        create table iks_bans (id integer primary key, steam_id text, duration integer, created_at integer, end_at integer,
          admin_id integer, unbanned_by integer, unban_reason text, updated_at integer);
        insert into iks_bans values
          (1, '${PLAYER}', 0, ${NOW - 60}, 0, 3, null, null, ${NOW}),
          (2, '${PLAYER}', 0, ${NOW - 60}, 0, 3, 3, 'Appeal', ${NOW})`),
    forget: 'delete from iks_admins',
    run: (url: string, isDryRun = false) => importIks(deps, { url, isDryRun }),
  },
  'CS2-SimpleAdmin': {
    create: () => createSimpleAdmin(),
    forget: 'delete from sa_admins',
    run: (url: string, isDryRun = false) => importSimpleAdmin(deps, { url, isDryRun }),
  },
  'CS2-SimpleAdmin, with the record of the lift': {
    create: () => createSimpleAdmin(),
    forget: 'delete from sa_unbans',
    run: (url: string, isDryRun = false) => importSimpleAdmin(deps, { url, isDryRun }),
  },
};

function createSimpleAdmin(): string {
  const row = (lift: string) => `('${PLAYER}', '${BASIA}', 'Basia', '', 0, '2026-11-21 11:59:00', ${lift})`;
  return createFile(`${simpleAdminSqliteSchema({ migration: 11 })};
    insert into sa_admins (id, player_name, player_steamid) values (3, 'Basia', '${BASIA}');
    insert into sa_unbans (id, ban_id, admin_id, reason, date) values (7, 2, 3, 'Appeal', '2026-11-21 12:00:00');
    insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created, status, unban_id)
      values ${row("'ACTIVE', null")}, ${row("'UNBANNED', 7")}`);
}

test.each(Object.entries(SOURCES))(
  '%s: the names of an admin who was deleted there stay, without a change or an event',
  async (_, { create, forget, run }) => {
    const url = create();
    await run(url);
    const stored = await storedPenalties(db);
    expect(stored).toMatchObject([
      { status: 'ACTIVE', adminName: 'Basia', adminSteamId: BASIA },
      {
        status: 'UNBANNED',
        adminName: 'Basia',
        liftedByName: 'Basia',
        liftedBySteamId: BASIA,
        liftReason: 'Appeal',
        liftedAt: new Date(NOW * 1000),
      },
    ]);
    const events = await connection`select max(id) from penalty_events`;
    const file = new Database(url.replace('sqlite:', ''));
    file.run(forget);
    file.close();
    for (const isDryRun of [true, false]) {
      expect(await run(url, isDryRun)).toMatchObject({ changed: 0, unchanged: 2, gone: 0, setAside: 0 });
    }
    expect(await storedPenalties(db)).toEqual(stored);
    expect(await connection`select max(id) from penalty_events`).toEqual(events);
  },
);

test('a later line of JSON that names no admin leaves the name', async () => {
  const line = {
    penalty_type: 'ban',
    source_id: '1',
    player_steamid: PLAYER,
    created: '2026-11-21T11:30:00Z',
  };
  const run = (fields: object) =>
    importNdjson(deps, { chunks: new Blob([JSON.stringify({ ...line, ...fields })]).stream() });
  await run({ admin_name: 'Basia', admin_steamid: BASIA });
  expect(await run({ admin_name: null, admin_steamid: null })).toMatchObject({ changed: 0, unchanged: 1 });
  expect(await run({ admin_name: 'Console', admin_steamid: '0' })).toMatchObject({ changed: 1 });
});
