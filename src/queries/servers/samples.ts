import { type AnyColumn, and, desc, eq, gte, lt, type SQL, sql } from 'drizzle-orm';
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

/** Player counts of a period, oldest first, in steps of `stepSeconds` (300 or more); steps without a poll are absent. */
export async function listServerHistory(
  db: Db,
  serverId: number,
  { since, until, stepSeconds }: { since: Date; until: Date; stepSeconds: number },
): Promise<HistoryPoint[]> {
  const isInRange = and(
    eq(serverSamples.serverId, serverId),
    gte(serverSamples.sampledAt, since),
    lt(serverSamples.sampledAt, until),
  );
  // Polls are averaged over five minutes first: each period counts alike, however many polls it had.
  const rows = await db.execute<Omit<HistoryPoint, 'at'> & { at: string }>(sql`
    select
      ${startOf(sql`sampled_at`, stepSeconds)} as "at",
      sum(players_average * seconds) / sum(seconds) as "playersAverage",
      max(players_maximum) as "playersMaximum",
      max(max_players) as "maxPlayers",
      sum(online_share * seconds) / sum(seconds) as "onlineShare",
      sum(seconds)::float8 as "polledSeconds"
    from (
      select sampled_at, period_seconds as seconds, players_average, players_maximum, max_players, online_share
      from ${serverSamples} where ${isInRange} and period_seconds > 0
      union all
      select ${startOf(sql`sampled_at`, STRETCH_SECONDS)}, ${sql.raw(String(STRETCH_SECONDS))},
        avg(players_average), max(players_maximum), max(max_players), avg(online_share)
      from ${serverSamples} where ${isInRange} and period_seconds = 0 group by 1
    ) as periods
    group by 1 order by 1`);
  return rows.map((row) => ({ ...row, at: new Date(row.at) }));
}

/** The length of the periods into which polls are merged after a day, and those in turn after 31 days. */
const STRETCH_SECONDS = 300;
const HOUR_SECONDS = 3600;

/** The beginning of the period of this many seconds that contains a time. */
function startOf(at: AnyColumn | SQL, seconds: number): SQL {
  return sql`date_bin(interval '${sql.raw(String(seconds))} seconds', ${at}, timestamptz 'epoch')`;
}

/**
 * Merges polls older than a day into averages and maxima of five minutes, and those older than 31 days into hours, since no
 * longer history is shown in smaller steps; deletes samples and maps older than a year. By the clock of the database: a
 * process clock that is ahead must not empty a table.
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
    await mergeIntoHours(db, id);
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

/**
 * Merges a server's periods of five minutes, all of them more than 31 days ago, into hours: those of at most 31 days at
 * once. `period_seconds` becomes the time that was polled, by which an hour counts in longer steps.
 */
async function mergeIntoHours(db: Db, serverId: number): Promise<void> {
  const hour = startOf(serverSamples.sampledAt, HOUR_SECONDS);
  const end = startOf(sql`now() - interval '31 days'`, HOUR_SECONDS);
  await db.execute(sql`
    with unmerged as (
      select min(${hour}) as begin from ${serverSamples}
      where server_id = ${serverId} and sampled_at < ${end} and period_seconds > 0 and sampled_at <> ${hour}
    ), merged as (
      delete from ${serverSamples} using unmerged
      where server_id = ${serverId} and period_seconds > 0
        and sampled_at >= unmerged.begin and sampled_at < least(unmerged.begin + interval '31 days', ${end})
      returning ${serverSamples}.*
    )
    insert into ${serverSamples} (server_id, sampled_at, period_seconds, players_average, players_maximum, max_players, online_share)
    select server_id, ${startOf(sql`sampled_at`, HOUR_SECONDS)}, sum(period_seconds),
      sum(players_average * period_seconds) / sum(period_seconds), max(players_maximum), max(max_players),
      sum(online_share * period_seconds) / sum(period_seconds)
    from merged group by 1, 2`);
}

/** A map that a server played. */
type PlayedMap = {
  map: string;
  seconds: number;
  /** How many times the server changed to it. */
  times: number;
};

/** The maps that were played longest, longest first, and how many others there were. */
export type PlayedMaps = { maps: PlayedMap[]; others: number };

/** The maps of a server in a period; time outside of the period does not count. */
export async function listPlayedMaps(
  db: Db,
  serverId: number,
  { since, until, limit }: { since: Date; until: Date; limit: number },
): Promise<PlayedMaps> {
  const { map, startedAt, endedAt } = serverMapPeriods;
  const bounds = [since.toISOString(), until.toISOString()] as const;
  const seconds = sql<number>`round(extract(epoch from sum(
    least(${endedAt}, ${bounds[1]}::timestamptz) - greatest(${startedAt}, ${bounds[0]}::timestamptz)
  )))`.mapWith(Number);
  const rows = await db
    .select({
      map,
      seconds,
      times: sql<number>`count(*)`.mapWith(Number),
      all: sql<number>`count(*) over ()`.mapWith(Number),
    })
    .from(serverMapPeriods)
    .where(and(eq(serverMapPeriods.serverId, serverId), gte(endedAt, since), lt(startedAt, until)))
    .groupBy(map)
    .orderBy(desc(seconds), map)
    .limit(limit);
  const maps = rows.map(({ all: _, ...played }) => played);
  return { maps, others: (rows[0]?.all ?? 0) - maps.length };
}
