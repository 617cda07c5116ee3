import { type AnyColumn, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { type ServerPlayer, serverSnapshots } from '../../db/schema/servers.ts';

/** What a server reported in a poll. */
export type ServerState = {
  hostname: string;
  map: string;
  playersCount: number;
  maxPlayers: number;
  pingMs: number;
  players: ServerPlayer[];
};

/** The columns of what a server reports. An offline server keeps the last value, or has the column's default again. */
const REPORTED: Record<keyof ServerState, { column: AnyColumn; whenOffline: 'last' | 'default' }> = {
  hostname: { column: serverSnapshots.hostname, whenOffline: 'last' },
  map: { column: serverSnapshots.map, whenOffline: 'last' },
  playersCount: { column: serverSnapshots.playersCount, whenOffline: 'default' },
  maxPlayers: { column: serverSnapshots.maxPlayers, whenOffline: 'last' },
  pingMs: { column: serverSnapshots.pingMs, whenOffline: 'default' },
  players: { column: serverSnapshots.players, whenOffline: 'default' },
};
const FIELDS = Object.entries(REPORTED).map(([key, { column, whenOffline }]) => ({
  key,
  whenOffline,
  name: sql.identifier(column.name),
  type: sql.raw(column.getSQLType()),
  default: column.default,
}));
const DEFAULTS = Object.fromEntries(FIELDS.map((field) => [field.key, field.default]));
const list = (write: (field: (typeof FIELDS)[number]) => SQL) => sql.join(FIELDS.map(write), sql`, `);

/** Offline after this many missed polls in a row. */
const MISSES_BEFORE_OFFLINE = 2;

/** One poll of one server; without a state there was no response. */
export type ServerPoll = { serverId: number; state: ServerState | undefined; polledAt: Date };
/** The state of a server after a poll was written; `wasOnline` before it, null for its first poll. */
export type PolledServer = {
  serverId: number;
  isOnline: boolean;
  wasOnline: boolean | null;
  missedPolls: number;
};

/** A map period or full server continues if the previous poll is at most this old: more than the longest interval. */
const CONTINUES_WITHIN = sql`interval '2 hours'`;

/**
 * Writes polls, at most one of each server, in one statement: the snapshots (with `full_since`), a sample of each player
 * count, and the map periods.
 * A missed poll keeps the last values; the second one in a row makes the server offline.
 * A poll that is not newer than the last one changes nothing: the process that made it was suspended meanwhile.
 * @param options.missesApartMs misses that follow a poll sooner do not count: for moments two processes may be polling.
 * @returns the servers that were written; those that were removed are left out.
 */
export async function saveServerPolls(
  db: Db,
  polls: readonly ServerPoll[],
  { missesApartMs = 0 }: { missesApartMs?: number } = {},
): Promise<PolledServer[]> {
  const missed = sql`previous.missed_polls
    + (excluded.polled_at >= previous.polled_at + ${missesApartMs}::integer * interval '1 millisecond')::integer`;
  const staysOnline = sql`(previous.is_online and ${missed} < ${MISSES_BEFORE_OFFLINE})`;
  const rows = polls.map(({ serverId, state, polledAt }) => ({
    server_id: serverId,
    has_response: state !== undefined,
    polled_at: polledAt.toISOString(),
    ...DEFAULTS,
    ...state,
  }));
  const savedServers = await db.execute<PolledServer>(sql`
    with poll as materialized (
      select server_id, has_response, polled_at, ${list(({ key, name }) => sql`input.${sql.identifier(key)} as ${name}`)}
      from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as input(
        server_id integer, has_response boolean, polled_at timestamptz,
        ${list(({ key, type }) => sql`${sql.identifier(key)} ${type}`)}
      )
      join servers on servers.id = input.server_id
      order by input.server_id
      for key share of servers
    ), saved as (
      insert into server_snapshots as previous (
        server_id, is_online, ${list(({ name }) => sql`${name}`)}, missed_polls, polled_at, seen_at, full_since
      )
      select server_id, has_response, ${list(({ name }) => sql`${name}`)}, case when has_response then 0 else 1 end, polled_at,
        case when has_response then polled_at end, case when players_count >= max_players and max_players > 0 then polled_at end
      from poll
      on conflict (server_id) do update set
        is_online = excluded.is_online or ${staysOnline},
        ${list(({ name, whenOffline }) => {
          const isTaken =
            whenOffline === 'last' ? sql`excluded.is_online` : sql`excluded.is_online or not ${staysOnline}`;
          return sql`${name} = case when ${isTaken} then excluded.${name} else previous.${name} end`;
        })},
        missed_polls = case when excluded.is_online then 0 else least(${missed}, 1000000) end,
        polled_at = excluded.polled_at,
        seen_at = coalesce(excluded.seen_at, previous.seen_at),
        full_since = case
          when not excluded.is_online and ${staysOnline} then previous.full_since
          when excluded.full_since is not null and previous.polled_at > excluded.polled_at - ${CONTINUES_WITHIN}
            then coalesce(previous.full_since, excluded.full_since)
          else excluded.full_since end
      where excluded.polled_at > previous.polled_at
        -- Written while the poller's clock was ahead.
        or previous.polled_at > now() + interval '1 minute'
      returning server_id, is_online, players_count, max_players, missed_polls, polled_at
    ), sampled as (
      insert into server_samples (server_id, sampled_at, players_average, players_maximum, max_players, online_share)
      select server_id, polled_at, players_count, least(players_count, 32767), least(max_players, 32767), is_online::integer
      from saved
      on conflict do nothing
    ), continued as (
      -- server_snapshots still has the rows from before this statement.
      update server_map_periods as period set ended_at = poll.polled_at
      from poll join saved using (server_id) join server_snapshots previous using (server_id)
      where poll.has_response and previous.is_online and previous.map = poll.map
        and previous.polled_at between poll.polled_at - ${CONTINUES_WITHIN} and poll.polled_at
        and period.server_id = poll.server_id and period.map = poll.map
        and period.started_at = (
          -- Later ones are from a clock that was ahead.
          select max(started_at) from server_map_periods
          where server_id = poll.server_id and started_at <= poll.polled_at
        )
      returning period.server_id
    ), begun as (
      insert into server_map_periods (server_id, map, started_at, ended_at)
      select server_id, map, poll.polled_at, poll.polled_at from poll join saved using (server_id)
      where has_response and map <> '' and server_id not in (select server_id from continued)
      on conflict do nothing
    )
    select server_id as "serverId", saved.is_online as "isOnline", before.is_online as "wasOnline",
      saved.missed_polls as "missedPolls"
    from saved left join server_snapshots as before using (server_id)`);
  return [...savedServers];
}
