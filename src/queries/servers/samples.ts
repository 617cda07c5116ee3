import { type AnyColumn, and, desc, eq, gte, lt, type SQL, sql } from 'drizzle-orm';
import type { Db, Tx } from '../../db/client.ts';
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

/** How samples are merged: once they are this many days old, into periods of this many seconds. */
const MERGERS = [
  { days: 1, seconds: STRETCH_SECONDS, areOfKind: sql`period_seconds = 0` },
  { days: 31, seconds: HOUR_SECONDS, areOfKind: sql`period_seconds > 0` },
];

/**
 * Merges polls older than a day into averages and maxima of five minutes, and those older than 31 days into hours, since no
 * longer history is shown in smaller steps; deletes samples and maps older than a year. By the clock of the database: a
 * process clock that is ahead must not empty a table.
 * @param signal stops it after the current statement.
 */
export async function downsampleHistory(db: Db | Tx, signal?: AbortSignal): Promise<void> {
  const aYearAgo = sql`now() - interval '365 days'`;
  // Server by server, with which the primary keys begin: PostgreSQL before version 18 would read the whole tables.
  for (const { id } of await db.select({ id: servers.id }).from(servers)) {
    for (const merger of MERGERS) {
      while (!signal?.aborted && (await mergeSamples(db, id, merger)) > 0);
    }
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
 * Merges a server's oldest samples, of a limited number of days: a whole backlog could exceed the time limit of a statement.
 * The `period_seconds` of an hour is the time that was polled, which is its weight in longer steps.
 * @returns the number of periods written.
 */
async function mergeSamples(
  db: Db | Tx,
  serverId: number,
  { days, seconds, areOfKind }: (typeof MERGERS)[number],
): Promise<number> {
  const begin = startOf(serverSamples.sampledAt, seconds);
  const age = sql.raw(`interval '${days} days'`);
  const end = startOf(sql`now() - ${age}`, seconds);
  const weight = sql`greatest(period_seconds, 1)`;
  const { count } = await db.execute(sql`
    with unmerged as (
      select min(${begin}) as begin from ${serverSamples}
      where server_id = ${serverId} and sampled_at < ${end} and ${areOfKind}
        and (period_seconds = 0 or sampled_at <> ${begin})
    ), merged as (
      delete from ${serverSamples} using unmerged
      where server_id = ${serverId} and ${areOfKind}
        and sampled_at >= unmerged.begin and sampled_at < least(unmerged.begin + ${age}, ${end})
      returning ${serverSamples}.*
    )
    insert into ${serverSamples} (server_id, sampled_at, period_seconds, players_average, players_maximum, max_players, online_share)
    select server_id, ${startOf(sql`sampled_at`, seconds)}, coalesce(nullif(sum(period_seconds), 0), ${seconds}),
      sum(players_average * ${weight}) / sum(${weight}), max(players_maximum), max(max_players),
      sum(online_share * ${weight}) / sum(${weight})
    from merged group by 1, 2
    on conflict do nothing`);
  return count;
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
