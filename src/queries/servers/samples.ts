import { type AnyColumn, and, avg, eq, gte, lt, max, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { serverMapPeriods, serverSamples } from '../../db/schema/servers.ts';

export type HistoryPoint = {
  at: Date;
  /** Length of the stretch the point stands for, in seconds. */
  periodSeconds: number;
  playersAverage: number;
  playersMaximum: number;
  maxPlayers: number;
  /** 0 to 1. */
  onlineShare: number;
};

/**
 * Player counts since a moment, oldest first, in steps of `stepSeconds` (300 or more); stretches without a poll are
 * absent. Averaged over each five minutes first: of some stretches every poll is kept, of others one row.
 */
export async function listServerHistory(
  db: Db,
  serverId: number,
  { since, until, stepSeconds }: { since: Date; until: Date; stepSeconds: number },
): Promise<HistoryPoint[]> {
  const inRange = and(
    eq(serverSamples.serverId, serverId),
    gte(serverSamples.sampledAt, since),
    lt(serverSamples.sampledAt, until),
  );
  const stretches = db
    .select({
      at: startOf(serverSamples.sampledAt, STRETCH_SECONDS).as('stretch_at'),
      playersAverage: avg(serverSamples.playersAverage).as('players_average'),
      playersMaximum: max(serverSamples.playersMaximum).as('players_maximum'),
      maxPlayers: max(serverSamples.maxPlayers).as('max_players'),
      onlineShare: avg(serverSamples.onlineShare).as('online_share'),
    })
    .from(serverSamples)
    .where(inRange)
    .groupBy(sql`1`)
    .as('stretches');
  const rows = await db
    .select({
      at: startOf(stretches.at, Math.trunc(stepSeconds))
        .mapWith((value: string) => new Date(value))
        .as('at'),
      playersAverage: sql<number>`avg(${stretches.playersAverage})::real`.mapWith(Number),
      playersMaximum: sql<number>`max(${stretches.playersMaximum})`.mapWith(Number),
      maxPlayers: sql<number>`max(${stretches.maxPlayers})`.mapWith(Number),
      onlineShare: sql<number>`avg(${stretches.onlineShare})::real`.mapWith(Number),
    })
    .from(stretches)
    .groupBy(sql`1`)
    .orderBy(sql`1`);
  return rows.map((row) => ({ ...row, periodSeconds: stepSeconds }));
}

/** What old polls are thinned to. */
const STRETCH_SECONDS = 300;

/** The beginning of the stretch of so many seconds that a moment lies in. */
function startOf(at: AnyColumn | SQL | SQL.Aliased<Date>, seconds: number): SQL<Date> {
  const length = sql.raw(String(seconds));
  return sql<Date>`to_timestamp(floor(extract(epoch from ${at}) / ${length}) * ${length})`;
}

const DAY_MS = 86_400_000;

/** Thins polls older than a day to averages and maxima of five minutes; drops samples and maps older than a year. */
export async function thinServerSamples(db: Db, now: Date): Promise<void> {
  // Cut at a multiple of five minutes, so that no stretch is thinned in two parts.
  const stretchMs = STRETCH_SECONDS * 1000;
  const cut = new Date(Math.floor((now.getTime() - DAY_MS) / stretchMs) * stretchMs).toISOString();
  await db.execute(sql`
    with raw as (
      delete from ${serverSamples} where period_seconds = 0 and sampled_at < ${cut}::timestamptz returning *
    )
    insert into ${serverSamples} (server_id, sampled_at, period_seconds, players_average, players_maximum, max_players, online_share)
    select server_id, ${startOf(sql`sampled_at`, STRETCH_SECONDS)}, ${sql.raw(String(STRETCH_SECONDS))},
      avg(players_average), max(players_maximum), max(max_players), avg(online_share)
    from raw group by 1, 2
    on conflict do nothing`);
  const aYearAgo = new Date(now.getTime() - 365 * DAY_MS);
  await db.delete(serverSamples).where(lt(serverSamples.sampledAt, aYearAgo));
  await db.delete(serverMapPeriods).where(lt(serverMapPeriods.endedAt, aYearAgo));
}
