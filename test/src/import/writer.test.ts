import { afterAll, expect, test } from 'bun:test';
import { fenceDatabase } from '../../../src/db/lease/fence.ts';
import { parseSteamId } from '../../../src/domain/steam-id.ts';
import { checkPenalty } from '../../../src/import/checked-penalty.ts';
import { openPenaltyWriter } from '../../../src/import/writer.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';

const { url, connection } = await createTestDatabase();
const proxy = await startDatabaseProxy(url);
afterAll(proxy.stop);

test('a write on a connection that fell silent ends once its process no longer leads', async () => {
  const leading = new AbortController();
  const options = { isDryRun: false, waits: false, signal: leading.signal };
  const writer = await openPenaltyWriter(proxy.url, 'silent', options);
  proxy.freeze();
  const written = writer?.markGone(['ban'], new Date());
  leading.abort();
  await expect(written).rejects.toThrow();
  await writer?.close();
});

test('nothing is written, deleted or marked once another process has taken over', async () => {
  await connection`insert into leases (name, holder, token, expires_at) values ('mirror', 'gone', 7, now())`;
  const writer = await openPenaltyWriter(url, 'fenced', {
    isDryRun: false,
    waits: false,
    fence: (db) => fenceDatabase(db, 'mirror', 7),
  });
  if (!writer) throw new Error('the source is locked');
  const key = (sourceId: string) => ({ sourceTable: 'ban', sourceId });
  expect(await writer.write([ban('1'), ban('2'), ban('3')])).toMatchObject({ added: 3 });
  await writer.deleteMerged([key('1')]);
  const stored = () => connection`select source_id, gone_at from penalties order by source_id`;
  const before = await stored();
  expect(before.map((row) => row.source_id)).toEqual(['2', '3']);

  await connection`update leases set token = token + 1`;
  const lost = 'Another process runs this part now';
  await expect(writer.write([ban('4')])).rejects.toThrow(lost);
  await expect(writer.deleteMerged([key('2')])).rejects.toThrow(lost);
  await expect(writer.markGone(['other', 'ban'], new Date())).rejects.toThrow(lost);
  expect(await stored()).toEqual(before);
  await writer.close();
});

test('every row that an import has not seen is marked as gone, however many there are', async () => {
  await connection`
    insert into penalties (source, source_table, source_id, type, status, player_name, player_steamid, admin_name,
      admin_steamid, reason, duration_minutes, server_id, created_at)
    select 'many', 'ban', n, 'ban', 'UNBANNED', 'Gracz', 76561198000000001, 'Console', 0, 'Aim', 0, 0, now()
    from generate_series(1, 100_010) as n`;
  const open = (isDryRun: boolean) => openPenaltyWriter(url, 'many', { isDryRun, waits: false });
  const unseen = async () =>
    (await connection`select source_id from penalties where source = 'many' and gone_at is null`).map(
      (row) => row.source_id,
    );
  const seen = [1, 100_005].map((id) => ({ sourceTable: 'ban', sourceId: String(id) }));

  const dry = await open(true);
  await dry?.markSeen(seen);
  expect(await dry?.markGone(['ban'], new Date())).toBe(100_008);
  await dry?.close();
  expect(await unseen()).toHaveLength(100_010);

  const writer = await open(false);
  // The session keeps the plans of its first update: here of one that changes nothing.
  await writer?.write([ban('new')]);
  await writer?.markSeen(seen);
  expect(await writer?.markGone(['ban'], new Date())).toBe(100_008);
  await writer?.close();
  expect((await unseen()).toSorted()).toEqual(['1', '100005', 'new']);
});

function ban(sourceId: string) {
  return checkPenalty({
    sourceTable: 'ban',
    sourceId,
    type: 'ban',
    status: 'ACTIVE',
    playerName: 'Rzeźnik',
    playerSteamId: parseSteamId('76561198000000001'),
    adminName: 'Console',
    adminSteamId: parseSteamId('76561198000000002'),
    reason: 'Aim',
    durationMinutes: 0,
    serverId: 0,
    createdAt: new Date('2026-11-21T11:30:00Z'),
    endsAt: null,
    liftedAt: null,
    liftedByName: null,
    liftedBySteamId: null,
    liftReason: null,
  });
}
