import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { servers } from '../../../../src/db/schema/servers.ts';
import { Unavailable } from '../../../../src/domain/errors.ts';
import { insertServer } from '../../../support/database/builders.ts';
import { tallyDifferences } from '../../../support/database/tallies.ts';
import { importSimpleAdmin } from '../../../support/import/importers.ts';
import { openImports, storedPenalties, storedPenalty } from '../../../support/import/penalty-rows.ts';
import { aRow, createSimpleAdminFiles, insertRows } from '../../../support/import/simple-admin-rows.ts';

const { db, connection, deps } = await openImports();
const createFile = createSimpleAdminFiles();
describe('CS2-SimpleAdmin in an SQLite file', () => {
  for (const migration of [5, 11, 15] as const) {
    test(`reads a file stuck at migration ${migration}, in UTC, with every digit of the ids`, async () => {
      const url = createFile(migration, (file) => {
        file.run(
          "insert into sa_unbans (ban_id, admin_id, reason, date) values (2, 0, 'Mistake', '2026-11-21 11:50:00')",
        );
        insertRows(file, 'sa_bans', [
          aRow({ player_steamid: '76561198000000003' }),
          { ...aRow({ status: 'UNBANNED' }), unban_id: 1 },
        ]);
        insertRows(file, 'sa_mutes', [{ ...aRow(), type: 'SILENCE' }]);
        if (migration >= 11) insertRows(file, 'sa_warns', [aRow()]);
      });
      const rows = migration >= 11 ? 4 : 3;
      expect(await importSimpleAdmin(deps, { url, timezone: 'Europe/Warsaw' })).toMatchObject({
        read: rows,
        added: rows,
      });
      expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({
        playerSteamId: '76561198000000003',
        createdAt: new Date('2026-11-21T11:30:00Z'),
      });
      expect(await storedPenalty(db, 'sa_bans', 2)).toMatchObject({
        status: 'UNBANNED',
        liftedAt: new Date('2026-11-21T11:50:00Z'),
        liftedByName: 'Console',
        liftReason: 'Mistake',
      });
      expect(await importSimpleAdmin(deps, { url })).toMatchObject({
        unchanged: rows,
        added: 0,
        changed: 0,
        gone: 0,
      });
    });
  }

  test('the newest record of a lift counts, whichever of the two rows names the other', async () => {
    const lift = (id: number, column: 'ban_id' | 'mute_id', of: number) => ({
      id,
      [column]: of,
      admin_id: 3,
      reason: `Lift ${id}`,
      date: '2026-11-21 11:50:00',
    });
    // The panel css-bans sets the end to the time of the lift, and leaves the id of an earlier one.
    const lifted = { ...aRow({ status: 'UNBANNED', ends: '2026-11-21 11:30:00' }) };
    const url = createFile(11, (file) => {
      insertRows(file, 'sa_admins', [{ id: 3, player_name: 'Basia', player_steamid: '76561198900000002' }]);
      const ofBans = [lift(1, 'ban_id', 2), lift(2, 'ban_id', 1), lift(3, 'ban_id', 2), lift(4, 'ban_id', 9)];
      insertRows(file, 'sa_unbans', [...ofBans, lift(5, 'ban_id', 4)]);
      insertRows(file, 'sa_unmutes', [lift(6, 'mute_id', 1), lift(7, 'mute_id', 2)]);
      insertRows(file, 'sa_bans', [
        { ...lifted, unban_id: null },
        { ...lifted, unban_id: 1 },
        { ...lifted, unban_id: 4 },
        { ...aRow(), unban_id: 5 },
      ]);
      insertRows(file, 'sa_mutes', [
        { ...aRow({ status: 'UNMUTED' }), unmute_id: null },
        { ...aRow({ status: '' }), unmute_id: null },
      ]);
    });
    const { warnedRows } = await importSimpleAdmin(deps, { url });
    expect((await storedPenalties(db)).map((row) => [row.status, row.liftedByName, row.liftReason])).toEqual([
      ['UNBANNED', 'Basia', 'Lift 2'],
      ['UNBANNED', 'Basia', 'Lift 3'],
      ['UNBANNED', 'Basia', 'Lift 4'],
      ['ACTIVE', null, null],
      ['UNBANNED', 'Basia', 'Lift 6'],
      ['UNBANNED', 'Basia', 'Lift 7'],
    ]);
    expect(warnedRows).toEqual([
      { table: 'sa_mutes', id: '2', reason: 'its status is empty: treated as lifted' },
    ]);
  });

  test('the same player with several active rows of one second keeps them all', async () => {
    const url = createFile(11, (file) => insertRows(file, 'sa_bans', [aRow(), aRow(), aRow()]));
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ added: 3 });
    expect(await tallyDifferences(connection)).toEqual([]);
  });

  test('a mute that counts minutes online ends by the clock, unless asked otherwise', async () => {
    const passed = { created: '2026-11-20 11:30:00', ends: '2026-11-20 12:30:00', type: 'MUTE' };
    const url = createFile(11, (file) => {
      insertRows(file, 'sa_mutes', [
        { ...aRow(), ...passed, passed: 10 },
        { ...aRow(), ...passed, passed: 60 },
        { ...aRow(), ...passed, passed: null },
      ]);
    });
    await importSimpleAdmin(deps, { url });
    expect((await storedPenalties(db)).map((row) => row.status)).toEqual(['EXPIRED', 'EXPIRED', 'EXPIRED']);
    await importSimpleAdmin(deps, { url, trustsOnlineTime: true });
    expect((await storedPenalties(db)).map((row) => [row.status, row.endsAt === null])).toEqual([
      ['ACTIVE', true],
      ['EXPIRED', true],
      ['EXPIRED', false],
    ]);
  });

  test('a row set aside that an earlier import kept is not gone', async () => {
    const url = createFile(11, (file) => insertRows(file, 'sa_bans', [aRow()]));
    await importSimpleAdmin(deps, { url });
    const file = new Database(url.slice('sqlite:'.length));
    file.run('update sa_bans set duration = -1');
    file.close();
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ setAside: 1, gone: 0, changed: 0 });
  });

  test('a server of ours that has a host name is matched by what the name resolves to', async () => {
    const ours = await insertServer(db, { address: 'localhost:27015' });
    const url = createFile(11, (file) => {
      insertRows(file, 'sa_servers', [{ hostname: 'Ours', address: '127.0.0.1:27015' }]);
      insertRows(file, 'sa_bans', [aRow({ server_id: 1 })]);
    });
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ added: 1, serversAdded: [] });
    expect((await storedPenalty(db, 'sa_bans', 1))?.serverId).toBe(ours.id);
  });

  test('a server whose name nobody can see is called by its address', async () => {
    const url = createFile(11, (file) => {
      insertRows(file, 'sa_servers', [{ hostname: '\u3164\u200b', address: '203.0.113.9:27015' }]);
      insertRows(file, 'sa_bans', [aRow({ server_id: 1 })]);
    });
    expect(await importSimpleAdmin(deps, { url })).toMatchObject({ serversAdded: ['203.0.113.9:27015'] });
    const { serverId } = (await storedPenalty(db, 'sa_bans', 1)) ?? {};
    const [made] = await db
      .select()
      .from(servers)
      .where(eq(servers.id, serverId ?? 0));
    expect(made).toMatchObject({ name: '203.0.113.9:27015', slug: '203-0-113-9-27015', isHidden: true });
  });

  test('a file that is not there is refused, and is not made', async () => {
    const path = join(tmpdir(), `absent-${Bun.randomUUIDv7()}.sqlite`);
    await expect(importSimpleAdmin(deps, { url: `sqlite:${path}` })).rejects.toThrow(Unavailable);
    expect(await Bun.file(path).exists()).toBe(false);
  });
});
