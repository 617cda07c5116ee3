import { describe, expect, test } from 'bun:test';
import { servers } from '../../../src/db/schema/servers.ts';
import { InvalidInput } from '../../../src/domain/errors.ts';
import { importIks } from '../../support/import/importers.ts';
import { createTestMariaDb, isMariaDbAtHand, type MariaDbDatabase } from '../../support/import/mariadb.ts';
import { openImports, storedPenalties } from '../../support/import/penalty-rows.ts';
import { insertInto } from '../../support/import/systems.ts';

const { db, deps } = await openImports();
const NOW = Date.parse('2026-11-21T12:00:00Z') / 1000;
/** The tables of IKS Admin 3; the first releases had no `ban_type`, no `unban_reason`, and misspelled `unbanned_by`. */
function iksSchema(release: 'first' | 'present'): string {
  const unbannedBy = release === 'first' ? 'ubanned_by' : 'unbanned_by';
  const common = `ip varchar(32), name varchar(128), duration int not null, reason varchar(128) not null,
    server_id int default null, admin_id int not null, ${unbannedBy} int default null,
    ${release === 'first' ? '' : 'unban_reason varchar(128) default null,'}
    created_at int not null, end_at int not null, updated_at int not null, deleted_at int default null`;
  return `
    create table iks_servers (id int not null unique, ip varchar(32) not null, name varchar(255) not null, rcon varchar(128));
    create table iks_admins (id int not null auto_increment primary key, steam_id varchar(17) not null, name varchar(64) not null);
    insert into iks_admins (steam_id, name) values ('CONSOLE', 'CONSOLE'), ('76561198900000002', 'Basia');
    create table iks_bans (id int not null auto_increment primary key, steam_id bigint,
      ${release === 'first' ? '' : 'ban_type tinyint not null default 0,'} ${common});
    create table iks_comms (id int not null auto_increment primary key, steam_id bigint not null, mute_type int not null, ${common});
    create table iks_admins_warns (id int not null auto_increment primary key, admin_id int not null, reason varchar(255));
    insert into iks_admins_warns (admin_id, reason) values (2, 'of an admin: never read');`;
}

async function insert(
  source: MariaDbDatabase,
  table: string,
  ...rows: Record<string, string | number | null>[]
) {
  for (const row of rows) {
    const values = {
      steam_id: '76561198000000001',
      name: 'Rzeźnik',
      duration: 3600,
      reason: 'Aim',
      admin_id: 2,
      created_at: NOW - 1800,
      end_at: NOW + 1800,
      updated_at: NOW - 60,
      ...row,
    };
    await source.run(insertInto(table, values));
  }
}

describe.if(await isMariaDbAtHand())('IKS Admin on MariaDB', () => {
  for (const release of ['first', 'present'] as const) {
    test(`reads the tables of the ${release} release, and changes nothing when repeated`, async () => {
      const source = await createTestMariaDb();
      await source.run(iksSchema(release));
      await source.run("insert into iks_servers (id, ip, name) values (7, '10.0.0.7:27015', 'Dust II')");
      const lifted = release === 'first' ? { ubanned_by: 2 } : { unbanned_by: 2, unban_reason: 'Appeal' };
      await insert(
        source,
        'iks_bans',
        { server_id: 7 },
        { duration: 0, end_at: 0, admin_id: 1 },
        { end_at: NOW - 1, duration: 1799 },
        { ...lifted },
        { steam_id: null, ...(release === 'first' ? {} : { ban_type: 1 }) },
        { deleted_at: NOW },
      );
      await insert(source, 'iks_comms', { mute_type: 0 }, { mute_type: 1 }, { mute_type: 2 });
      expect(await importIks(deps, { url: source.url })).toMatchObject({
        read: 8,
        added: 8,
        setAside: 0,
        warnings: 0,
      });
      const stored = await storedPenalties(db);
      expect(
        stored.map(
          (row) => `${row.sourceTable} ${row.sourceId} ${row.type} ${row.status} ${row.durationMinutes}`,
        ),
      ).toEqual([
        'iks_bans 1 ban ACTIVE 60',
        'iks_bans 2 ban ACTIVE 0',
        'iks_bans 3 ban EXPIRED 30',
        'iks_bans 4 ban UNBANNED 60',
        'iks_bans 5 ban ACTIVE 60',
        'iks_comms 1 mute ACTIVE 60',
        'iks_comms 2 gag ACTIVE 60',
        'iks_comms 3 silence ACTIVE 60',
      ]);
      const [server] = await db.select().from(servers);
      expect(server).toMatchObject({ slug: 'dust-ii', isHidden: true });
      expect(stored[0]).toMatchObject({
        playerSteamId: '76561198000000001',
        adminName: 'Basia',
        adminSteamId: '76561198900000002',
        serverId: server?.id,
        createdAt: new Date((NOW - 1800) * 1000),
        endsAt: new Date((NOW + 1800) * 1000),
      });
      expect(stored[1]).toMatchObject({ adminName: 'CONSOLE', adminSteamId: '0', endsAt: null, serverId: 0 });
      expect(stored[3]).toMatchObject({
        liftedAt: new Date((NOW - 60) * 1000),
        liftedByName: 'Basia',
        liftedBySteamId: '76561198900000002',
        liftReason: release === 'first' ? null : 'Appeal',
      });
      expect(stored[4]?.playerSteamId as string).toBe('0');
      expect(await importIks(deps, { url: source.url })).toMatchObject({
        added: 0,
        changed: 0,
        unchanged: 8,
        gone: 0,
      });
      await source.run('update iks_bans set deleted_at = 1 where id = 1');
      expect(await importIks(deps, { url: source.url })).toMatchObject({ read: 7, unchanged: 7, gone: 1 });
    });
  }

  test('rows that contradict themselves follow end_at, and say so; rows that cannot be are set aside', async () => {
    const source = await createTestMariaDb();
    await source.run(iksSchema('present'));
    await insert(
      source,
      'iks_bans',
      { end_at: 0 },
      { duration: 0 },
      { duration: -1 },
      { created_at: 0, duration: 0 },
      { server_id: 99 },
    );
    await insert(source, 'iks_comms', { mute_type: 9 });
    const summary = await importIks(deps, { url: source.url });
    expect(summary).toMatchObject({ added: 3, warnings: 3, setAside: 3 });
    expect(
      (await storedPenalties(db)).map((row) => [row.sourceId, row.durationMinutes, row.serverId]),
    ).toEqual([
      ['1', 0, 0],
      ['2', 60, 0],
      ['5', 60, 0],
    ]);
    expect(summary.rowsSetAside.map(({ table, id, reason }) => `${table} ${id} ${reason}`)).toEqual([
      'iks_bans 3 the duration -1 is negative',
      'iks_bans 4 it has no date of creation',
      'iks_comms 1 the mute_type "9" is not known: 0 mute, 1 gag, 2 silence',
    ]);
  });

  test('an IP ban with a SteamID is a ban of that SteamID, and counted', async () => {
    const source = await createTestMariaDb();
    await source.run(iksSchema('present'));
    await insert(source, 'iks_bans', { ban_type: 1 }, { ban_type: 2 }, { ban_type: 1, steam_id: null });
    const { assumptions } = await importIks(deps, { url: source.url });
    expect((await storedPenalties(db)).map((row) => String(row.playerSteamId))).toEqual([
      '76561198000000001',
      '76561198000000001',
      '0',
    ]);
    expect(assumptions).toEqual([{ rows: 1, assumption: expect.stringContaining('by address only') }]);
  });

  test('a row with a reason for unbanning is lifted, even without a name', async () => {
    const source = await createTestMariaDb();
    await source.run(iksSchema('present'));
    await insert(source, 'iks_bans', { unban_reason: 'Appeal' }, { unban_reason: '' });
    const { assumptions } = await importIks(deps, { url: source.url });
    expect(await storedPenalties(db)).toMatchObject([
      { status: 'UNBANNED', liftReason: 'Appeal', liftedByName: null },
      { status: 'ACTIVE' },
    ]);
    expect(assumptions).toEqual([{ rows: 1, assumption: expect.stringMatching(/^with an unban_reason/) }]);
  });

  test('a database of another kind is refused', async () => {
    const source = await createTestMariaDb();
    await expect(importIks(deps, { url: source.url })).rejects.toThrow(InvalidInput);
  });
});
