import { beforeEach, describe, expect, test } from 'bun:test';
import type { PenaltyStatus } from '../../../src/domain/penalty.ts';
import type { ImportDeps } from '../../../src/import/import-run.ts';
import { importNdjson } from '../../../src/import/ndjson/ndjson.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { importIks, importSimpleAdmin, importSourcebans } from '../../support/import/importers.ts';
import { createTestMariaDb, isMariaDbAtHand } from '../../support/import/mariadb.ts';
import { importDeps, storedPenalties } from '../../support/import/penalty-rows.ts';
import { simpleAdminSqliteSchema } from '../../support/import/simple-admin-schema.ts';
import { createSourceFiles } from '../../support/import/source-file.ts';

const database = await createTestDatabase();
const { db, connection } = database;
const createFile = createSourceFiles();
beforeEach(async () => {
  await connection`truncate penalties, servers, server_aliases cascade`;
});

const PLAYER = '76561198000000001';
const MINUTE = 60;
/** When the rows end, in minutes from now: in the future, less than an hour ago, and longer ago. */
const ENDS = [30, -30, -90];
/** The status that each is stored with; reads correct the second. */
const STORED: PenaltyStatus[] = ['ACTIVE', 'ACTIVE', 'EXPIRED'];

type Row = { id: number; created: number; ends: number };

/** Rows that end this many minutes from now (negative: ago), in Unix seconds by the database's clock. */
async function rows(): Promise<Row[]> {
  const [clock] = await connection`select extract(epoch from now())::bigint as now`;
  const now = Number(clock?.now);
  return ENDS.map((ends, index) => ({
    id: index + 1,
    created: now - 3000 * MINUTE,
    ends: now + ends * MINUTE,
  }));
}

const shown = (seconds: number) => new Date(seconds * 1000).toISOString();
const wallClock = (seconds: number) => shown(seconds).slice(0, 19).replace('T', ' ');

/** Each source with the same rows: how they are written there, and the import of them. */
const SOURCES = {
  ndjson: async (given: Row[]) => {
    const lines = given.map(({ id, created, ends }) =>
      JSON.stringify({
        penalty_type: 'ban',
        player_steamid: PLAYER,
        source_id: id,
        created: shown(created),
        ends: shown(ends),
      }),
    );
    return (deps: ImportDeps) => importNdjson(deps, { chunks: new Blob([lines.join('\n')]).stream() });
  },
  simpleadmin: async (given: Row[]) => {
    const values = given.map(
      ({ created, ends }) =>
        `('${PLAYER}', '0', 'Console', '', ${(ends - created) / MINUTE}, '${wallClock(created)}', '${wallClock(ends)}')`,
    );
    const url = await createFile(
      `${simpleAdminSqliteSchema({ migration: 11 })};
        insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created, ends) values ${values.join(', ')}`,
    );
    return (deps: ImportDeps) => importSimpleAdmin(deps, { url });
  },
};
const MARIADB_SOURCES = {
  iks: async (given: Row[]) => {
    const source = await createTestMariaDb();
    const values = given.map(
      ({ created, ends }) => `(${PLAYER}, ${ends - created}, '', 1, ${created}, ${ends}, ${created})`,
    );
    await source.run(`create table iks_bans (id int auto_increment primary key, steam_id bigint, name varchar(128), duration int,
        reason varchar(128), admin_id int, unbanned_by int, created_at int, end_at int, updated_at int);
      insert into iks_bans (steam_id, duration, reason, admin_id, created_at, end_at, updated_at) values ${values.join(', ')}`);
    return (deps: ImportDeps) => importIks(deps, { url: source.url });
  },
  sourcebans: async (given: Row[]) => {
    const source = await createTestMariaDb();
    const values = given.map(
      ({ created, ends }) => `('STEAM_0:1:19867136', ${created}, ${ends}, ${ends - created}, '')`,
    );
    await source.run(`create table sb_bans (bid int auto_increment primary key, authid varchar(64), created int, ends int,
        length int, reason text);
      insert into sb_bans (authid, created, ends, length, reason) values ${values.join(', ')}`);
    return (deps: ImportDeps) => importSourcebans(deps, { url: source.url });
  },
};

const atHand = { ...SOURCES, ...((await isMariaDbAtHand()) ? MARIADB_SOURCES : {}) };

describe.each(Object.entries(atHand))('an import from %s', (_, prepare) => {
  const statuses = async () => (await storedPenalties(db)).map(({ status }) => status);
  const depsAhead = (hours: number) =>
    importDeps(database, new Date(Date.now() + hours * 3_600_000).toISOString());

  test("by a clock two days ahead of the database's ends no penalty that runs", async () => {
    const run = await prepare(await rows());
    await run(depsAhead(48));
    expect(await statuses()).toEqual(STORED);
  });

  test('by a clock that is right marks what ended an hour ago, and by one that is behind nothing more', async () => {
    const run = await prepare(await rows());
    await run(depsAhead(0));
    expect(await statuses()).toEqual(STORED);
    await connection`truncate penalties`;
    await run(depsAhead(-2));
    expect(await statuses()).toEqual(['ACTIVE', 'ACTIVE', 'ACTIVE']);
  });
});
