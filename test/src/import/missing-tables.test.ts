import { beforeEach, describe, expect, test } from 'bun:test';
import { userFlags } from '../../../src/db/schema/accounts.ts';
import { IKS } from '../../../src/import/iks.ts';
import { simpleAdminSystem } from '../../../src/import/simple-admin/simple-admin.ts';
import type { SourceDatabase } from '../../../src/import/source/tables.ts';
import { sourcebansSystem } from '../../../src/import/sourcebans/sourcebans.ts';
import { acceptHeldRemovals, listHeldRemovals } from '../../../src/queries/held-removals.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { importSimpleAdmin } from '../../support/import/importers.ts';
import { BAN, createMirrors, MUTE } from '../../support/import/mirror.ts';
import { importDeps, storedPenalties, storedPenalty } from '../../support/import/penalty-rows.ts';
import { createSourceFiles, editSource } from '../../support/import/source-file.ts';
import { SYSTEMS } from '../../support/import/systems.ts';

const database = await createTestDatabase();
const { db, connection } = database;
const { clock, lines, openMirror, nextRound, createFile } = createMirrors(database);
const deps = importDeps(database);
const createSourceFile = createSourceFiles();

beforeEach(async () => {
  await connection`truncate held_removals, penalty_events, user_flags`;
});

const createSource = () => createFile(`insert into sa_bans ${BAN}`, `insert into sa_mutes ${MUTE}`);

const linesAboutTables = () =>
  lines
    .filter(({ msg }) => msg.startsWith('tables of'))
    .map(({ msg, missing, tables }) => [msg, missing ?? tables]);
const MISSING =
  'tables of CS2-SimpleAdmin are missing or may not be read: what came from them stays as it is, until they are back or ' +
  '`bun run cli mirrors accept simpleadmin`';
const BACK = 'tables of CS2-SimpleAdmin are no longer missing';

async function nextDay(mirror: Parameters<typeof nextRound>[0]): Promise<void> {
  clock.now = new Date(clock.now.getTime() + 24 * 3_600_000);
  await nextRound(mirror);
}

describe('a mirror with a table that is not there any more', () => {
  test('a mirror whose table is gone reads the others, removes nothing, and is not up until it is back', async () => {
    const source = createSource();
    const { mirror, readMetrics } = await openMirror(source.url);
    expect(mirror.health()).toMatchObject({ isUp: true, missing: undefined });
    source.run('alter table sa_bans rename to other', `insert into sa_mutes ${MUTE}`);
    await nextDay(mirror);
    expect(mirror.health()).toMatchObject({
      isUp: false,
      failures: 0,
      missing: ['sa_bans'],
      held: undefined,
    });
    expect(await readMetrics()).toContain('mirror_up{system="simpleadmin"} 0\n');
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ status: 'ACTIVE', goneAt: null });
    expect(await storedPenalties(db)).toHaveLength(3);
    await nextRound(mirror);
    expect(linesAboutTables()).toEqual([[MISSING, ['sa_bans']]]);

    source.run('alter table other rename to sa_bans', `insert into sa_bans ${BAN}`);
    await nextRound(mirror);
    expect(mirror.health()).toMatchObject({ isUp: true, missing: undefined });
    expect(await storedPenalties(db)).toHaveLength(4);
    expect(linesAboutTables().slice(1)).toEqual([[BACK, ['sa_bans']]]);
  });

  test.each(['sa_warns', 'sa_unbans', 'sa_unmutes', 'sa_servers'])(
    'a mirror names %s as missing once an earlier round has read it',
    async (table) => {
      const source = createSource();
      const { mirror } = await openMirror(source.url);
      source.run(`drop table ${table}`);
      await nextRound(mirror);
      expect(mirror.health()).toMatchObject({ isUp: false, missing: [table] });
    },
  );

  test('a mirror names all tables when it may read none any more', async () => {
    const source = createSource();
    const { mirror } = await openMirror(source.url);
    source.run(...['sa_bans', 'sa_mutes', 'sa_warns'].map((table) => `drop table ${table}`));
    await nextDay(mirror);
    expect(mirror.health()).toMatchObject({ isUp: false, missing: ['sa_bans', 'sa_mutes', 'sa_warns'] });
    expect((await storedPenalties(db)).filter(({ goneAt }) => goneAt)).toEqual([]);
  });

  test('a mirror without the table of lifts keeps who lifted a penalty and when', async () => {
    const source = createFile(
      `insert into sa_bans ${BAN}`,
      "update sa_bans set status = 'UNBANNED', unban_id = 1",
      "insert into sa_unbans (id, ban_id, admin_id, reason, date) values (1, 1, 0, 'Enough', '2026-11-21 11:45:00')",
    );
    const { mirror } = await openMirror(source.url);
    const lifted = await storedPenalty(db, 'sa_bans', 1);
    expect(lifted).toMatchObject({ liftReason: 'Enough', liftedByName: 'Console' });
    source.run('drop table sa_unbans');
    await nextDay(mirror);
    expect(await storedPenalty(db, 'sa_bans', 1)).toEqual(lifted);
  });

  test('a mirror without the table of lifts revives no mute whose status MySQL could not store', async () => {
    const source = createFile(
      `insert into sa_mutes ${MUTE}`,
      "update sa_mutes set status = ''",
      "insert into sa_unmutes (id, mute_id, admin_id, reason, date) values (1, 1, 0, 'Enough', '2026-11-21 11:45:00')",
    );
    const { mirror } = await openMirror(source.url);
    const before = await storedPenalty(db, 'sa_mutes', 1);
    expect(before).toMatchObject({ status: 'UNBANNED', liftReason: 'Enough' });
    source.run('drop table sa_unmutes');
    await nextDay(mirror);
    expect(await storedPenalty(db, 'sa_mutes', 1)).toEqual(before);
  });

  test('a mirror names a missing table once across restarts, and removes its penalties when that is accepted', async () => {
    const source = createSource();
    const { mirror } = await openMirror(source.url);
    source.run('drop table sa_bans', 'drop table sa_servers');
    await nextRound(mirror);
    await mirror.stop();
    const { mirror: again } = await openMirror(source.url);
    expect(again.health().missing).toEqual(['sa_bans', 'sa_servers']);
    expect(linesAboutTables()).toHaveLength(1);
    expect(await acceptHeldRemovals(db, 'simpleadmin', 'operator')).toEqual({ tables: 2 });
    await nextRound(again);
    expect((await storedPenalty(db, 'sa_bans', 1))?.goneAt).not.toBeNull();
    expect(await storedPenalty(db, 'sa_mutes', 1)).toMatchObject({ goneAt: null });
    expect(again.health()).toMatchObject({ isUp: true, missing: undefined });
    expect(await listHeldRemovals(db)).toEqual([]);
  });

  test('a mirror reports tables of admins as missing only where they give flags', async () => {
    const source = createSource();
    const { mirror } = await openMirror(source.url);
    source.run('drop table sa_admins');
    await nextRound(mirror);
    expect(mirror.health()).toMatchObject({ isUp: true, missing: undefined });
  });

  test.each(['sa_admins', 'sa_admins_flags', 'sa_groups_servers'])(
    'a mirror leaves flags as they are once %s is missing',
    async (table) => {
      const source = createFile(
        `create table if not exists sa_admins_flags (admin_id int, flag text);
        create table if not exists sa_groups (id int, name text); create table if not exists sa_groups_flags (group_id int, flag text);
        create table if not exists sa_groups_servers (group_id int, server_id int)`,
        "insert into sa_groups (id, name) values (1, '#vip')",
        "insert into sa_groups_flags (group_id, flag) values (1, '@css/vip')",
        "insert into sa_admins (player_name, player_steamid, flags) values ('Ala', '76561198000000001', '@css/vip')",
      );
      const flags = [{ flag: 'has_svip', permissions: ['@css/vip'] }] as const;
      const { mirror } = await openMirror(source.url, { flags });
      const before = await db.select().from(userFlags);
      expect(before).toHaveLength(1);
      source.run(`drop table ${table}`);
      await nextRound(mirror);
      expect(mirror.health()).toMatchObject({ isUp: false, missing: [table] });
      expect(await db.select().from(userFlags)).toEqual(before);
    },
  );
});

/** Has every column. */
class AllColumns extends Map<string, string> {
  override has = () => true;
  override get size() {
    return 1;
  }
}

test.each([
  ['CS2-SimpleAdmin', simpleAdminSystem({})],
  ['SourceBans++', sourcebansSystem({})],
  ['IKS Admin', IKS],
] as const)('the list of the tables of %s names each table that is read', async (_, system) => {
  const asked = new Set<string>();
  const source: SourceDatabase = {
    kind: 'mysql',
    address: '',
    select: async () => [],
    listColumns: async (table) => {
      asked.add(table);
      return new AllColumns();
    },
    close: async () => {},
  };
  await system.findTables(source);
  await system.readAdmins(source);
  const { penalties, lifts = {}, admins } = system.tables;
  expect([...asked].sort()).toEqual([...penalties, ...Object.keys(lifts), ...admins].sort());
});

describe('a database from before tables were remembered', () => {
  test('a mirror that remembers no tables names a missing one of which penalties, lifts or servers are stored', async () => {
    const source = createFile(
      `insert into sa_bans ${BAN}`,
      "update sa_bans set status = 'UNBANNED', unban_id = 1, server_id = 1",
      "insert into sa_unbans (id, ban_id, admin_id, reason, date) values (1, 1, 0, 'Enough', '2026-11-21 11:45:00')",
      "insert into sa_servers (id, hostname, address) values (1, 'Mirage', '10.0.0.1:27015')",
    );
    await importSimpleAdmin(deps, { url: source.url });
    await connection`delete from settings`;
    source.run(
      ...['sa_bans', 'sa_warns', 'sa_unbans', 'sa_unmutes', 'sa_servers'].map(
        (table) => `drop table ${table}`,
      ),
    );
    const { mirror } = await openMirror(source.url);
    expect(mirror.health().missing).toEqual(['sa_bans', 'sa_servers', 'sa_unbans']);
  });
});

describe('an import from a database', () => {
  test('an import without a table imports the rest, and forgets the table once that is accepted', async () => {
    const source = createSource();
    const importAgain = (options: { isDryRun?: boolean; acceptsRemovals?: boolean } = {}) =>
      importSimpleAdmin(deps, { url: source.url, ...options });
    expect(await importAgain()).toMatchObject({ missing: [] });
    source.run('drop table sa_bans', `insert into sa_mutes ${MUTE}`);
    expect(await importAgain({ isDryRun: true })).toMatchObject({ missing: ['sa_bans'], added: 1, gone: 0 });
    expect(await importAgain()).toMatchObject({ missing: ['sa_bans'], added: 1, gone: 0 });
    expect(await importAgain({ isDryRun: true, acceptsRemovals: true })).toMatchObject({
      missing: [],
      gone: 1,
    });
    expect(await importAgain({ acceptsRemovals: true })).toMatchObject({ missing: [], gone: 1 });
    expect(await importAgain()).toMatchObject({ missing: [], gone: 0 });
  });

  test('an import removes the bans of a missing table of SourceBans++ once that is accepted', async () => {
    const { schema, add, run } = SYSTEMS['SourceBans++'];
    const url = createSourceFile(schema, add('ban', { id: 1 }), add('mute', { id: 1 }));
    const importAgain = (options: { acceptsRemovals?: boolean } = {}) => run(deps, { url, ...options });
    expect(await importAgain()).toMatchObject({ added: 2, missing: [] });
    await connection`delete from settings`;
    editSource(url, 'drop table sb_bans');
    expect(await importAgain()).toMatchObject({ missing: ['sb_bans'], gone: 0 });
    expect(await importAgain({ acceptsRemovals: true })).toMatchObject({ missing: [], gone: 1 });
  });

  test('an import of another database under a name without penalties reports no table of the former one as missing', async () => {
    await importSimpleAdmin(deps, { url: createFile().url });
    const other = createFile('drop table sa_warns', `insert into sa_bans ${BAN}`);
    expect(await importSimpleAdmin(deps, { url: other.url })).toMatchObject({ missing: [], added: 1 });
  });
});
