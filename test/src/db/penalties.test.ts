import { expect, test } from 'bun:test';
import { eq, sql } from 'drizzle-orm';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { PENALTY_STATUSES, PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { aPenalty, aSteamId, insertPenalties, insertPenalty } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { tallyDifferences } from '../../support/database/tallies.ts';

const { db, connection } = await createTestDatabase();

const FIRST = '1971-01-01T00:00:00+00';
const LAST = '9999-12-31T23:59:59+00';

test('nobody can write a time outside the years 1971 to 9999', async () => {
  const { id } = await insertPenalty(db);
  for (const column of ['created_at', 'ends_at', 'lifted_at']) {
    const set = (time: string) =>
      connection`update penalties set ${connection(column)} = ${time}::text::timestamptz where id = ${id}`;
    for (const time of [FIRST, LAST]) await set(time);
    for (const time of [
      'infinity',
      '-infinity',
      '10000-01-01T00:00:00+00',
      '1970-12-31T23:59:59.999+00',
      '0044-03-15 BC',
    ]) {
      await expect(set(time)).rejects.toThrow('violates check constraint "penalties_times"');
    }
  }
});

test('times are stored in whole seconds, cut as lists show them, whatever writes them', async () => {
  const at = (milliseconds: number) => new Date(Date.UTC(2026, 10, 30, 23, 59, 59, milliseconds));
  const times = { createdAt: at(999), endsAt: at(500), liftedAt: at(1) };
  const row = await insertPenalty(db, { serverId: 8, ...times });
  expect([row.createdAt, row.endsAt, row.liftedAt]).toEqual([at(0), at(0), at(0)]);
  const [updated] =
    await connection`update penalties set created_at = ${at(700).toISOString()}::text::timestamptz,
    lifted_at = null where id = ${row.id} returning created_at::text, ends_at::text, lifted_at`;
  expect(updated).toEqual({
    created_at: '2026-11-30 23:59:59+00',
    ends_at: '2026-11-30 23:59:59+00',
    lifted_at: null,
  });
  expect(await tallyDifferences(connection)).toEqual([]);
});

test('tallies equal a recount after inserts, updates and deletes by writers at the same time', async () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  const aRandomPenalty = () =>
    aPenalty({
      type: PENALTY_TYPES[random(PENALTY_TYPES.length)] ?? 'ban',
      status: PENALTY_STATUSES[random(3)] ?? 'ACTIVE',
      serverId: random(4),
      adminSteamId: aSteamId(random(5)),
      playerSteamId: random(4) === 0 ? aPenalty({}).playerSteamId : aSteamId(random(50)),
      createdAt: new Date(Date.UTC(2026, random(3), 1 + random(28), random(24))),
    });
  await insertPenalties(db, Array.from({ length: 500 }, aRandomPenalty));
  await Promise.all(
    Array.from({ length: 8 }, async (_, writer) => {
      for (let round = 0; round < 10; round++) {
        const [first] = await insertPenalties(db, [aRandomPenalty(), aRandomPenalty()]);
        await db
          .update(penalties)
          .set({ status: 'UNBANNED', serverId: writer })
          .where(sql`id % 8 = ${writer} and type = 'gag'`);
        await db.delete(penalties).where(eq(penalties.id, first?.id ?? 0));
      }
    }),
  );
  expect(await tallyDifferences(connection)).toEqual([]);
  await db.execute(sql`truncate penalties`);
  expect(await tallyDifferences(connection)).toEqual([]);
});
