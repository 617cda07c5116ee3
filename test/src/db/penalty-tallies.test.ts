import { expect, test } from 'bun:test';
import { eq, sql } from 'drizzle-orm';
import { penalties } from '../../../src/db/schema.ts';
import { PENALTY_STATUSES, PENALTY_TYPES } from '../../../src/penalty.ts';
import { aPenalty, aSteamId, insertPenalties } from '../../support/builders.ts';
import { createTestDatabase } from '../../support/database.ts';

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
  expect(await differences()).toEqual([]);
  await db.execute(sql`truncate penalties`);
  expect(await differences()).toEqual([]);
});

/** Tallies that a recount of the rows contradicts. */
async function differences() {
  const rows = await connection`
    with recount as (
      select t.scope, t.server_id, t.admin_steamid, t.period, t.bucket, p.type, p.status, count(*)::int as n
      from penalties p, lateral (select (p.created_at at time zone 'UTC')::date as day,
        date_trunc('month', p.created_at at time zone 'UTC')::date as month) d,
      lateral (values (0,0,0::bigint,0,date '1970-01-01'), (0,0,0,1,month), (0,0,0,2,day),
        (1,p.server_id,0,0,'1970-01-01'), (1,p.server_id,0,1,month), (1,p.server_id,0,2,day),
        (2,0,p.admin_steamid,0,'1970-01-01'), (2,0,p.admin_steamid,1,month), (2,0,p.admin_steamid,2,day),
        (3,p.server_id,p.admin_steamid,0,'1970-01-01'), (3,p.server_id,p.admin_steamid,1,month),
        (4,0,0,0,'1970-01-01'), (4,0,0,1,month), (4,0,0,2,day)) t(scope, server_id, admin_steamid, period, bucket)
      where t.scope <> 4 or p.player_steamid = 0
      group by 1,2,3,4,5,6,7
    ), told as (
      select scope, server_id, admin_steamid, period, bucket,
        (enum_range(null::penalty_type))[(slot - 1) / 3 + 1] as type,
        (enum_range(null::penalty_status))[(slot - 1) % 3 + 1] as status, n
      from penalty_tallies, unnest(counts) with ordinality as u(n, slot) where n <> 0
    )
    select * from recount full join told using (scope, server_id, admin_steamid, period, bucket, type, status)
    where recount.n is distinct from told.n`;
  return [...rows];
}
