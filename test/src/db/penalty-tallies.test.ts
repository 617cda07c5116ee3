import { expect, test } from 'bun:test';
import { eq, sql } from 'drizzle-orm';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { PENALTY_STATUSES, PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { aPenalty, aSteamId, insertPenalties } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { tallyDifferences } from '../../support/database/tallies.ts';

const { db, connection } = await createTestDatabase();

test('tallies equal a recount after inserts, updates and deletes by writers at the same time', async () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  const aRandomPenalty = () =>
    aPenalty({
      type: PENALTY_TYPES[random(5)] ?? 'ban',
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
