import { type AnyColumn, and, avg, eq, gte, lt, max, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { serverMapPeriods, serverSamples, servers } from '../../db/schema/servers.ts';

export type HistoryPoint = {
  at: Date;
  playersAverage: number;
  playersMaximum: number;
  maxPlayers: number;
  /** Of the polls, 0 to 1. */
  onlineShare: number;
  /** How much of the step had polls, in whole periods of five minutes. */
  polledSeconds: number;
};

/**
 * Player counts of a period, oldest first, in steps of `stepSeconds` (300 or more); steps without a poll are absent.
 * Averaged over five minutes first, since recent periods have a row per poll, and older ones a row per five minutes.
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
  return db
    .select({
      at: startOf(stretches.at, Math.trunc(stepSeconds))
        .mapWith((value: string) => new Date(value))
        .as('at'),
      playersAverage: sql<number>`avg(${stretches.playersAverage})::real`.mapWith(Number),
      playersMaximum: sql<number>`max(${stretches.playersMaximum})`.mapWith(Number),
      maxPlayers: sql<number>`max(${stretches.maxPlayers})`.mapWith(Number),
      onlineShare: sql<number>`avg(${stretches.onlineShare})::real`.mapWith(Number),
      polledSeconds: sql<number>`count(*) * ${sql.raw(String(STRETCH_SECONDS))}`.mapWith(Number),
    })
    .from(stretches)
    .groupBy(sql`1`)
    .orderBy(sql`1`);
}

/** The length of the periods that old polls are merged into. */
const STRETCH_SECONDS = 300;

/** The beginning of the period of this many seconds that contains a time. */
function startOf(at: AnyColumn | SQL | SQL.Aliased<Date>, seconds: number): SQL<Date> {
  const length = sql.raw(String(seconds));
  return sql<Date>`to_timestamp(floor(extract(epoch from ${at}) / ${length}) * ${length})`;
}

/**
 * Merges polls older than a day into averages and maxima of five minutes; deletes samples and maps older than a year. By the
 * clock of the database: a process clock that is ahead must not empty a table.
 * @param signal stops it after the current statement.
 */
export async function thinServerSamples(db: Db, signal?: AbortSignal): Promise<void> {
  // One period at a time: an hour of ten thousand servers has millions of polls, too many for the time limit on a statement.
  let mergedUntil = '-infinity';
  while (!signal?.aborted) {
    const begin = await findUnmergedPeriod(db, mergedUntil);
    if (begin === undefined) break;
    mergedUntil = await mergePeriod(db, begin);
  }
  if (signal?.aborted) return;
  const aYearAgo = sql`now() - interval '365 days'`;
  // Server by server, with which the primary keys begin: PostgreSQL before version 18 would read the whole tables.
  for (const { id } of await db.select({ id: servers.id }).from(servers)) {
    if (signal?.aborted) return;
    await db
      .delete(serverSamples)
      .where(and(eq(serverSamples.serverId, id), lt(serverSamples.sampledAt, aYearAgo)));
    await db
      .delete(serverMapPeriods)
      .where(
        and(
          eq(serverMapPeriods.serverId, id),
          lt(serverMapPeriods.startedAt, aYearAgo),
          lt(serverMapPeriods.endedAt, aYearAgo),
        ),
      );
  }
}

/**
 * The beginning of the oldest period of five minutes, all of it more than a day ago, that has polls to merge.
 * @param since an earlier one is not looked for.
 */
async function findUnmergedPeriod(db: Db, since: string): Promise<string | undefined> {
  const begin = startOf(serverSamples.sampledAt, STRETCH_SECONDS);
  const [oldest] = await db.execute<{ begin: string }>(sql`
    select ${begin} as begin from ${serverSamples}
    where period_seconds = 0 and sampled_at >= ${since}::timestamptz
      and sampled_at < ${startOf(sql`now() - interval '1 day'`, STRETCH_SECONDS)}
    order by sampled_at limit 1`);
  return oldest?.begin;
}

/** Merges the polls of a period. @returns its end. */
async function mergePeriod(db: Db, begin: string): Promise<string> {
  const length = sql.raw(String(STRETCH_SECONDS));
  const end = sql`${begin}::timestamptz + interval '${length} seconds'`;
  const [merged] = await db.execute<{ end: string }>(sql`
    with raw as (
      delete from ${serverSamples}
      where period_seconds = 0 and sampled_at >= ${begin}::timestamptz and sampled_at < ${end}
      returning *
    ), merged as (
      insert into ${serverSamples} (server_id, sampled_at, period_seconds, players_average, players_maximum, max_players, online_share)
      select server_id, ${begin}::timestamptz, ${length}, avg(players_average), max(players_maximum), max(max_players), avg(online_share)
      from raw group by server_id
      on conflict do nothing
    )
    select ${end} as end`);
  if (!merged) throw new Error('the end of a period was not returned');
  return merged.end;
}
