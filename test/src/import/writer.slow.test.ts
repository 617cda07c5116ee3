import { afterAll, expect, test } from 'bun:test';
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

test('every row that an import has not seen is marked as gone, however many there are', async () => {
  await connection.begin(async (tx) => {
    // A busy machine may take longer than a statement may.
    await tx`set local statement_timeout = 0`;
    await tx`
    insert into penalties (source, source_table, source_id, type, status, player_name, player_steamid, admin_name,
      admin_steamid, reason, duration_minutes, server_id, created_at)
    select 'many', 'ban', n, 'ban', 'UNBANNED', 'Gracz', 76561198000000001, 'Console', 0, 'Aim', 0, 0, now()
    from generate_series(1, 100_010) as n`;
  });
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
