import { beforeEach, describe, expect, test } from 'bun:test';
import { userFlags } from '../../../src/db/schema/accounts.ts';
import { tryParseFlagMapping } from '../../../src/domain/rights/user-flags.ts';
import { IKS } from '../../../src/import/iks.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { ADMIN_TABLES, readAdminTables } from '../../support/import/admin-tables.ts';
import { BAN, createMirrors } from '../../support/import/mirror.ts';
import { storedPenalties } from '../../support/import/penalty-rows.ts';
import { createSourceFiles } from '../../support/import/source-file.ts';
import { waitFor } from '../../support/wait.ts';

const database = await createTestDatabase();
const { db } = database;
const { startMirror, nextRound, warnings, createFile } = createMirrors(database);
const createSource = createSourceFiles();

describe('admins of a source', () => {
  test.each([...ADMIN_TABLES])(
    'reads the admins of $name in SQLite',
    async ({ system, statements, expected }) => {
      expect(await readAdminTables(createSource(statements), system)).toEqual(expected);
    },
  );

  test.each([
    ['create table sa_bans (id int)', 0, 'the source has no table sa_admins'],
    [
      "create table sa_admins (id int, player_steamid text); insert into sa_admins values (1, '1')",
      0,
      'no flags of admins',
    ],
    [
      `create table sa_admins (id int, player_steamid text, group_id int); create table sa_admins_flags (admin_id int, flag text);
       insert into sa_admins values (1, '1', 5)`,
      0,
      'no table sa_groups',
    ],
    [
      "create table sb_admins (authid text, srv_flags text, srv_group text); insert into sb_admins values ('', '', 'x')",
      1,
      'no table sb_srvgroups',
    ],
    ['create table sb_admins (authid text)', 1, 'has no column srv_flags'],
    [
      "create table iks_admins (steam_id text, flags text, group_id int); insert into iks_admins values ('', '', 2)",
      2,
      'no table iks_groups',
    ],
  ] as const)('a source that lacks what they need cannot be read: %s', (statements, index, reason) => {
    const system = ADMIN_TABLES[index]?.system ?? IKS;
    expect(readAdminTables(createSource(statements), system)).rejects.toThrow(reason);
  });
});

describe('a mirror', () => {
  const listFlags = async () =>
    (await db.select().from(userFlags))
      .map(({ steamId64, flag, source }) => `${steamId64} ${flag} ${source}`)
      .sort();
  const flags = tryParseFlagMapping('is_admin=@css/ban, #Staff ;has_svip=@css/vip');

  beforeEach(async () => {
    await db.delete(userFlags);
  });

  test('gives the flags of a mapping, and takes them away only in a complete round', async () => {
    const { url, run } = createFile();
    const [simpleAdmin] = ADMIN_TABLES;
    run('drop table sa_admins');
    run(simpleAdmin?.statements ?? '');
    run(`insert into sa_bans ${BAN}`);
    const { mirror } = startMirror(url, { ...(flags && { flags }) });
    await waitFor(() => mirror.health().lastRoundAt);
    const all = [
      `${aSteamId(1)} is_admin simpleadmin`,
      `${aSteamId(2)} has_svip simpleadmin`,
      `${aSteamId(7)} is_admin simpleadmin`,
      `${aSteamId(12)} is_admin simpleadmin`,
    ];
    expect(await listFlags()).toEqual(all);
    run('alter table sa_admins_flags rename to lost');
    run('delete from sa_admins where flags is not null');
    run(`insert into sa_bans ${BAN}`);
    await nextRound(mirror);
    expect(await storedPenalties(db)).toHaveLength(2);
    expect(await listFlags()).toEqual(all);
    await nextRound(mirror);
    expect(warnings()).toEqual(['admins of CS2-SimpleAdmin cannot be read: their flags stay as they are']);
    expect(mirror.health().isUp).toBe(true);
    run('alter table lost rename to sa_admins_flags');
    await nextRound(mirror);
    expect(await listFlags()).toEqual(all.filter((line) => !line.startsWith(aSteamId(12))));
  });

  test('says that admins cannot be read, however many rows were set aside before', async () => {
    const { url, run } = createFile();
    run(`with recursive n(i) as (select 1 union all select i + 1 from n where i < 1100)
      insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created)
      select 'BOT', '0', 'Console', 'Aim', 0, '2026-11-21 11:30:00' from n`);
    run('drop table sa_admins');
    const { mirror } = startMirror(url, { ...(flags && { flags }) });
    await waitFor(() => mirror.health().lastRoundAt);
    expect(warnings().filter((line) => line.includes('set aside'))).toHaveLength(1000);
    expect(warnings()).toContain('admins of CS2-SimpleAdmin cannot be read: their flags stay as they are');
  });

  test('gives no flags without a mapping', async () => {
    const { url, run } = createFile();
    run(
      `insert into sa_admins (player_name, player_steamid, flags) values ('Ala', '${aSteamId(1)}', '@css/root')`,
    );
    const { mirror } = startMirror(url);
    await waitFor(() => mirror.health().lastRoundAt);
    expect(await listFlags()).toEqual([]);
  });
});
