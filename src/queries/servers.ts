import { asc, eq, type SQL, sql } from 'drizzle-orm';
import { type Db, prepareOnce } from '../db/client.ts';
import { type ServerPlayer, serverSnapshots, servers } from '../db/schema.ts';
import { Conflict, InvalidInput, NotFound } from '../errors.ts';
import { hasVisibleCharacter } from '../visible-text.ts';

export type Server = typeof servers.$inferSelect;
export type ServerSnapshot = typeof serverSnapshots.$inferSelect;
/** A listed server and its latest poll; without one it has never been polled. */
export type ServerStatus = { server: Server; snapshot: ServerSnapshot | null };

/** What a poll that was answered tells. */
export type ServerAnswer = {
  hostname: string;
  map: string;
  playersCount: number;
  maxPlayers: number;
  pingMs: number;
  players: ServerPlayer[];
};

/** In code points. */
const LONGEST_NAME = 128;

/** The servers that are shown, by name, with their latest poll. */
export async function listServerStatuses(db: Db): Promise<ServerStatus[]> {
  const rows = await shownServers(db).execute();
  return rows.map(({ server, snapshot }) => ({ server: withShownName(server), snapshot }));
}

const shownServers = prepareOnce((db) =>
  db
    .select({ server: servers, snapshot: serverSnapshots })
    .from(servers)
    .leftJoin(serverSnapshots, eq(serverSnapshots.serverId, servers.id))
    .where(eq(servers.isHidden, false))
    .orderBy(asc(servers.name), asc(servers.id))
    .prepare('server_statuses'),
);

/** All servers, hidden ones too, by id. */
export async function listServers(db: Db): Promise<Server[]> {
  const rows = await db.select().from(servers).orderBy(asc(servers.id));
  return rows.map(withShownName);
}

/** What a server is called: its slug where nobody can see its name, as names were once let in and may come by SQL. */
export function shownNameOf({ name, slug }: Pick<Server, 'name' | 'slug'>): string {
  return hasVisibleCharacter(name) ? name : slug;
}

function withShownName(server: Server): Server {
  return { ...server, name: shownNameOf(server) };
}

/**
 * Adds a server; the slug defaults to the name made url-safe, with a number where that is taken.
 * @throws {InvalidInput} for a name, slug or address that is not allowed.
 * @throws {Conflict} when the slug given, or the address, belongs to another server.
 */
export async function addServer(
  db: Db,
  { name, address, slug, mode = '', region = '', isHidden = false }: NewServer,
): Promise<Server> {
  const label = name.trim();
  // Characters, not UTF-16 units: an emoji is one.
  if ([...label].length > LONGEST_NAME || label.includes('\0') || !hasVisibleCharacter(label)) {
    throw new InvalidInput(
      `name ${JSON.stringify(name.slice(0, 64))} is not allowed: give 1 to ${LONGEST_NAME} characters, at least one of them visible`,
    );
  }
  checkAddress(address);
  if (slug !== undefined && !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(slug)) {
    throw new InvalidInput(
      `slug ${JSON.stringify(slug)} is not allowed: give lower-case letters, digits and single hyphens`,
    );
  }
  const values = { name: label, address, mode, region, isHidden };
  for (let number = 1; ; number++) {
    const wanted = slug ?? numbered(toSlug(label), number);
    const [row] = await db
      .insert(servers)
      .values({ ...values, slug: wanted })
      .onConflictDoNothing()
      .returning();
    if (row) return row;
    const [holder] = await db.select().from(servers).where(eq(servers.address, address));
    if (holder) throw new Conflict(`The address ${address} belongs to ${holder.slug} already`);
    if (slug !== undefined) throw new Conflict(`The slug ${slug} is taken: give another with --slug`);
  }
}

type NewServer = {
  name: string;
  /** `host:port`; the host may be a name, IPv4, or IPv6 in brackets. */
  address: string;
  slug?: string | undefined;
  mode?: string | undefined;
  region?: string | undefined;
  isHidden?: boolean;
};

/** @throws {NotFound} when no server has this slug. */
export async function removeServer(db: Db, slug: string): Promise<void> {
  const removed = await db.delete(servers).where(eq(servers.slug, slug)).returning({ id: servers.id });
  if (removed.length === 0) throw new NotFound(`There is no server ${JSON.stringify(slug)}`);
}

/** Shows a server on the public list and polls it, or hides it. @throws {NotFound} when no server has this slug. */
export async function setServerHidden(db: Db, slug: string, isHidden: boolean): Promise<void> {
  const changed = await db
    .update(servers)
    .set({ isHidden })
    .where(eq(servers.slug, slug))
    .returning({ id: servers.id });
  if (changed.length === 0) throw new NotFound(`There is no server ${JSON.stringify(slug)}`);
}

/** `[2001:db8::1]:27015` and `host:27015` into host and port. @throws {InvalidInput} */
export function checkAddress(address: string): { host: string; port: number } {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):([0-9]{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host && port >= 1 && port <= 65_535) return { host, port };
  throw new InvalidInput(
    `address ${JSON.stringify(address.slice(0, 128))} is not allowed: give HOST:PORT, such as play.example.org:27015 or [2001:db8::1]:27015`,
  );
}

/** Offline after this many missed polls in a row. */
const MISSES_BEFORE_OFFLINE = 2;

/** One poll of one server; without an answer it was missed. */
export type ServerPoll = { serverId: number; answer: ServerAnswer | undefined; polledAt: Date };
/** What a server is after a poll was written. */
export type PolledServer = { serverId: number; isOnline: boolean; missedPolls: number };

/**
 * Writes polls, at most one of each server: the snapshots and a sample of each player count, in one statement.
 * A poll without an answer keeps what was known, and makes the server offline at the second miss in a row.
 * Servers that are gone are left out of the result.
 */
export async function saveServerPolls(db: Db, polls: readonly ServerPoll[]): Promise<PolledServer[]> {
  const rows = polls.map(({ serverId, answer, polledAt }) => ({
    server_id: serverId,
    is_answered: answer !== undefined,
    hostname: answer?.hostname ?? '',
    map: answer?.map ?? '',
    players_count: answer?.playersCount ?? 0,
    max_players: answer?.maxPlayers ?? 0,
    ping_ms: answer?.pingMs ?? 0,
    players: answer?.players ?? [],
    polled_at: polledAt.toISOString(),
  }));
  const saved = await db.execute<{ server_id: number; is_online: boolean; missed_polls: number }>(sql`
    with poll as materialized (
      select told.* from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as told(
        server_id integer, is_answered boolean, hostname text, map text, players_count integer, max_players integer,
        ping_ms integer, players jsonb, polled_at timestamptz
      )
      join servers on servers.id = told.server_id
      order by told.server_id
      for key share of servers
    ), saved as (
      insert into server_snapshots as known (
        server_id, is_online, hostname, map, players_count, max_players, ping_ms, players, missed_polls, polled_at, seen_at
      )
      select server_id, is_answered, hostname, map, players_count, max_players, ping_ms, players,
        case when is_answered then 0 else 1 end, polled_at, case when is_answered then polled_at end
      from poll
      on conflict (server_id) do update set
        is_online = excluded.is_online or (known.is_online and known.missed_polls + 1 < ${MISSES_BEFORE_OFFLINE}),
        hostname = case when excluded.is_online then excluded.hostname else known.hostname end,
        map = case when excluded.is_online then excluded.map else known.map end,
        max_players = case when excluded.is_online then excluded.max_players else known.max_players end,
        players_count = ${keptWhileOnline('players_count', sql`0`)},
        ping_ms = ${keptWhileOnline('ping_ms', sql`0`)},
        players = ${keptWhileOnline('players', sql`'[]'::jsonb`)},
        missed_polls = case when excluded.is_online then 0 else least(known.missed_polls + 1, 1000000) end,
        polled_at = excluded.polled_at,
        seen_at = coalesce(excluded.seen_at, known.seen_at)
      returning server_id, is_online, players_count, max_players, missed_polls, polled_at
    ), sampled as (
      insert into server_samples (server_id, sampled_at, players_average, players_maximum, max_players, online_share)
      select server_id, polled_at, players_count, least(players_count, 32767), least(max_players, 32767), is_online::integer
      from saved
      on conflict do nothing
    )
    select server_id, is_online, missed_polls from saved`);
  return [...saved].map((row) => ({
    serverId: row.server_id,
    isOnline: row.is_online,
    missedPolls: row.missed_polls,
  }));
}

/** The polled value; at a miss the known one while the server counts as online, and `otherwise` when it goes offline. */
function keptWhileOnline(column: 'players_count' | 'ping_ms' | 'players', otherwise: SQL): SQL {
  const name = sql.identifier(column);
  return sql`case when excluded.is_online then excluded.${name}
    when known.is_online and known.missed_polls + 1 < ${MISSES_BEFORE_OFFLINE} then known.${name} else ${otherwise} end`;
}

/** Servers to poll, and what their last poll made of them; hidden ones are left alone. */
export async function listPolledServers(db: Db) {
  return db
    .select({
      id: servers.id,
      slug: servers.slug,
      address: servers.address,
      isOnline: serverSnapshots.isOnline,
    })
    .from(servers)
    .leftJoin(serverSnapshots, eq(serverSnapshots.serverId, servers.id))
    .where(eq(servers.isHidden, false))
    .orderBy(asc(servers.id));
}

/** A name made url-safe: lower case, without diacritics, words joined by hyphens; `server` when nothing is left. */
function toSlug(name: string): string {
  const slug = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll('ł', 'l')
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64)
    .replace(/-+$/, '');
  return slug === '' ? 'server' : slug;
}

function numbered(slug: string, number: number): string {
  return number === 1 ? slug : `${slug}-${number}`;
}
