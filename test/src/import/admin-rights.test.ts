import { beforeEach, describe, expect, test } from 'bun:test';
import { userFlags } from '../../../src/db/schema/accounts.ts';
import { tryParseFlagMapping } from '../../../src/domain/rights/user-flags.ts';
import { createMirrorMetrics } from '../../../src/import/rounds.ts';
import { createVipMirror } from '../../../src/import/vipcore.ts';
import { acceptHeldRemovals } from '../../../src/queries/held-removals.ts';
import { knownTablesSetting } from '../../../src/queries/penalties/sources.ts';
import { findSetting, saveSetting } from '../../../src/queries/settings.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { BAN, createMirrors } from '../../support/import/mirror.ts';
import { storedPenalties } from '../../support/import/penalty-rows.ts';
import { RIGHTS_TABLES, readRights } from '../../support/import/rights-tables.ts';
import { createSourceFiles, editSource } from '../../support/import/source-file.ts';
import { waitFor } from '../../support/wait.ts';

const database = await createTestDatabase();
const { db } = database;
const { log, openMirror, nextRound, warnings, createFile } = createMirrors(database);
const createSource = createSourceFiles();
const [SIMPLE_ADMIN, SOURCEBANS, IKS, VIPCORE] = RIGHTS_TABLES;

describe('rights in the games of a source', () => {
  test.each([...RIGHTS_TABLES])(
    'reads who has rights by the tables of $name in SQLite',
    async ({ read, statements, expected }) => {
      expect(await readRights(createSource(statements), read)).toEqual(expected);
    },
  );

  test('a row of VIPCore without an end gives nothing, since only 0 is for ever', async () => {
    const url =
      createSource(`create table vip_users (account_id bigint, sid bigint, "group" text, expires bigint);
      insert into vip_users values (39734273, 0, 'VIP', null), (39734274, 0, 'VIP', ''), (39734275, 0, 'VIP', 0)`);
    expect(await readRights(url, VIPCORE.read)).toEqual({ [aSteamId(3)]: 'has_svip' });
  });

  test.each([
    ['create table sa_bans (id int)', SIMPLE_ADMIN, 'the source has no table sa_admins'],
    [
      "create table sa_admins (id int, player_steamid text); insert into sa_admins values (1, '1')",
      SIMPLE_ADMIN,
      'no flags of admins',
    ],
    [
      `create table sa_admins (id int, player_steamid text, group_id int); create table sa_admins_flags (admin_id int, flag text);
       insert into sa_admins values (1, '1', 5)`,
      SIMPLE_ADMIN,
      'no table sa_groups',
    ],
    [
      "create table sb_admins (authid text, srv_flags text, srv_group text); insert into sb_admins values ('', '', 'x')",
      SOURCEBANS,
      'no table sb_srvgroups',
    ],
    ['create table sb_admins (authid text)', SOURCEBANS, 'has no column srv_flags'],
    [
      "create table iks_admins (steam_id text, flags text, group_id int); insert into iks_admins values ('', '', 2)",
      IKS,
      'no table iks_groups',
    ],
  ] as const)(
    'a source that lacks what they need cannot be read: %s',
    async (statements, { read }, reason) => {
      await expect(readRights(createSource(statements), read)).rejects.toThrow(reason);
    },
  );
});

describe('a mirror', () => {
  const listFlags = async () =>
    (await db.select().from(userFlags))
      .map(({ steamId64, flag, source }) => `${steamId64} ${flag} ${source}`)
      .sort();
  const flags = tryParseFlagMapping('is_admin=@css/ban, #Staff ;has_svip=@css/vip');
  const UNREADABLE = 'admins of CS2-SimpleAdmin cannot be read: their flags stay as they are';

  beforeEach(async () => {
    await db.delete(userFlags);
  });

  test('gives the flags of a mapping, and takes them away only in a complete round', async () => {
    const { url, run } = createFile(
      'drop table sa_admins',
      SIMPLE_ADMIN.statements,
      `insert into sa_bans ${BAN}`,
    );
    const { mirror } = await openMirror(url, { flags });
    const all = [
      `${aSteamId(1)} is_admin simpleadmin`,
      `${aSteamId(2)} has_svip simpleadmin`,
      `${aSteamId(7)} is_admin simpleadmin`,
      `${aSteamId(12)} is_admin simpleadmin`,
    ];
    expect(await listFlags()).toEqual(all);
    run('alter table sa_admins_flags rename to lost', 'delete from sa_admins where flags is not null');
    run(`insert into sa_bans ${BAN}`);
    await nextRound(mirror);
    expect(await storedPenalties(db)).toHaveLength(2);
    expect(await listFlags()).toEqual(all);
    await nextRound(mirror);
    expect(warnings()).toEqual([expect.stringContaining('tables of CS2-SimpleAdmin are missing')]);
    expect(mirror.health()).toMatchObject({ isUp: false, missing: ['sa_admins_flags'] });
    run('alter table lost rename to sa_admins_flags');
    await nextRound(mirror);
    expect(await listFlags()).toEqual(all.filter((line) => !line.startsWith(aSteamId(12))));
  });

  test('a mirror continues after its stored mapping of flags or list of tables was damaged', async () => {
    const { url, run } = createFile('drop table sa_admins', SIMPLE_ADMIN.statements);
    const { mirror } = await openMirror(url, { flags });
    const before = await listFlags();
    for (const [mapping, tables] of [
      ['{"flag', '["sa_bans"'],
      ['null', 'null'],
      ['[{}]', '[1]'],
    ] as const) {
      await saveSetting(db, 'flags.simpleadmin', mapping);
      await saveSetting(db, knownTablesSetting('simpleadmin'), tables);
      run('alter table sa_warns rename to lost');
      await nextRound(mirror);
      run('alter table lost rename to sa_warns');
      await nextRound(mirror);
      expect(mirror.health()).toMatchObject({ isUp: true, failures: 0 });
    }
    expect(await findSetting(db, 'flags.simpleadmin')).toBe(JSON.stringify(flags));
    expect(await listFlags()).toEqual(before);
  });

  test('says that admins cannot be read, however many rows were set aside before', async () => {
    const { url } = createFile(
      `with recursive n(i) as (select 1 union all select i + 1 from n where i < 1100)
      insert into sa_bans (player_steamid, admin_steamid, admin_name, reason, duration, created)
      select 'BOT', '0', 'Console', 'Aim', 0, '2026-11-21 11:30:00' from n`,
      'drop table sa_admins',
    );
    await openMirror(url, { flags });
    expect(warnings().filter((line) => line.includes('set aside'))).toHaveLength(1000);
    expect(warnings()).toContain(UNREADABLE);
  });

  test('gives no flags without a mapping', async () => {
    const admin = `('Ala', '${aSteamId(1)}', '@css/root')`;
    const { url } = createFile(`insert into sa_admins (player_name, player_steamid, flags) values ${admin}`);
    await openMirror(url);
    expect(await listFlags()).toEqual([]);
  });

  test('gives VIPs flags until they end; without the table everybody keeps theirs, and it is said once', async () => {
    const url = createSource(VIPCORE.statements);
    const metrics = createMetrics();
    const mirror = createVipMirror(
      { db, log, metrics: createMirrorMetrics(metrics) },
      { url, flags: [{ flag: 'has_svip', permissions: ['*'] }], intervalSeconds: 0.02 },
    );
    const stopping = new AbortController();
    const ended = mirror.lead(stopping.signal);
    await waitFor(() => mirror.health().isUp);
    const kept = [`${aSteamId(1)} has_svip vipcore`, '76561200107749376 has_svip vipcore'];
    const all = [...kept, '76561202255233023 has_svip vipcore'];
    expect(await listFlags()).toEqual(all);
    expect((await metrics.render()).text).toContain('mirror_up{system="vipcore"} 1');
    editSource(url, 'alter table vip_users rename to gone');
    await waitFor(() => mirror.health().missing);
    expect(mirror.health()).toMatchObject({ isUp: false, missing: ['vip_users'] });
    expect(await listFlags()).toEqual(all);
    editSource(url, 'delete from gone where account_id > 2147483648', 'alter table gone rename to vip_users');
    await waitFor(() => mirror.health().isUp);
    expect(await listFlags()).toEqual(kept);
    expect(warnings()).toEqual([expect.stringContaining('tables of VIPCore are missing')]);
    editSource(url, 'drop table vip_users');
    await waitFor(() => mirror.health().missing);
    await acceptHeldRemovals(db, 'vipcore', 'operator');
    await waitFor(async () => (await listFlags()).length === 0);
    stopping.abort();
    await ended;
  });
});
