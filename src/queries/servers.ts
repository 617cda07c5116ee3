import { and, asc, eq, gte, lt, sql } from 'drizzle-orm';
import { type Db, prepared } from '../db/client.ts';
import { type ServerPlayer, serverSamples, serverSnapshots, servers } from '../db/schema.ts';
import { Conflict, InvalidInput, NotFound } from '../errors.ts';

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

/** The servers that are shown, by name, with their latest poll. */
export async function listServerStatuses(db: Db): Promise<ServerStatus[]> {
  return prepared(db, 'server_statuses', (handle) =>
    handle
      .select({ server: servers, snapshot: serverSnapshots })
      .from(servers)
      .leftJoin(serverSnapshots, eq(serverSnapshots.serverId, servers.id))
      .where(eq(servers.isHidden, false))
      .orderBy(asc(servers.name), asc(servers.id))
      .prepare('server_statuses'),
  ).execute();
}

/** All servers, hidden ones too, by id. */
export async function listServers(db: Db): Promise<Server[]> {
  return db.select().from(servers).orderBy(asc(servers.id));
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
  if (label === '' || label.length > 128 || label.includes('\0')) {
    throw new InvalidInput(
      `name ${JSON.stringify(name.slice(0, 64))} is not allowed: give 1 to 128 characters`,
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
export const MISSES_BEFORE_OFFLINE = 2;

/**
 * Writes a poll: the snapshot and a sample of the player count, in one transaction.
 * A poll without an answer keeps what was known, and makes the server offline at the second miss in a row.
 */
export async function saveServerPoll(
  db: Db,
  serverId: number,
  { answer, polledAt }: { answer: ServerAnswer | undefined; polledAt: Date },
): Promise<void> {
  await db.transaction(async (tx) => {
    const [saved] = answer
      ? await tx
          .insert(serverSnapshots)
          .values({ serverId, ...answer, isOnline: true, missedPolls: 0, polledAt, seenAt: polledAt })
          .onConflictDoUpdate({
            target: serverSnapshots.serverId,
            set: { ...answer, isOnline: true, missedPolls: 0, polledAt, seenAt: polledAt },
          })
          .returning()
      : await saveMissedPoll(tx, serverId, polledAt);
    if (!saved) return;
    await tx
      .insert(serverSamples)
      .values({
        serverId,
        sampledAt: polledAt,
        playersAverage: saved.playersCount,
        playersMaximum: Math.min(saved.playersCount, 32_767),
        maxPlayers: Math.min(saved.maxPlayers, 32_767),
        onlineShare: saved.isOnline ? 1 : 0,
      })
      .onConflictDoNothing();
  });
}

function saveMissedPoll(db: Db, serverId: number, polledAt: Date) {
  const misses = sql`${serverSnapshots.missedPolls} + 1`;
  const isStillOnline = sql<boolean>`(${serverSnapshots.isOnline} and ${misses} < ${MISSES_BEFORE_OFFLINE})`;
  const whileOnline = <T>(value: unknown, otherwise: T) =>
    sql<T>`case when ${isStillOnline} then ${value} else ${otherwise} end`;
  return db
    .insert(serverSnapshots)
    .values({ serverId, isOnline: false, missedPolls: 1, polledAt })
    .onConflictDoUpdate({
      target: serverSnapshots.serverId,
      set: {
        isOnline: isStillOnline,
        missedPolls: sql`least(${misses}, 1000000)`,
        playersCount: whileOnline(serverSnapshots.playersCount, sql`0`),
        pingMs: whileOnline(serverSnapshots.pingMs, sql`0`),
        players: whileOnline(serverSnapshots.players, sql`'[]'::jsonb`),
        polledAt,
      },
    })
    .returning();
}

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

/** Player counts since a moment, oldest first, in steps of `stepSeconds` (300 or more); stretches without a poll are absent. */
export async function listServerHistory(
  db: Db,
  serverId: number,
  { since, until, stepSeconds }: { since: Date; until: Date; stepSeconds: number },
): Promise<HistoryPoint[]> {
  const step = sql.raw(String(Math.trunc(stepSeconds)));
  const bucket = sql<Date>`to_timestamp(floor(extract(epoch from ${serverSamples.sampledAt}) / ${step}) * ${step})`;
  const rows = await db
    .select({
      at: bucket.mapWith((value: string) => new Date(value)).as('at'),
      playersAverage: sql<number>`avg(${serverSamples.playersAverage})::real`.mapWith(Number),
      playersMaximum: sql<number>`max(${serverSamples.playersMaximum})`.mapWith(Number),
      maxPlayers: sql<number>`max(${serverSamples.maxPlayers})`.mapWith(Number),
      onlineShare: sql<number>`avg(${serverSamples.onlineShare})::real`.mapWith(Number),
    })
    .from(serverSamples)
    .where(
      and(
        eq(serverSamples.serverId, serverId),
        gte(serverSamples.sampledAt, since),
        lt(serverSamples.sampledAt, until),
      ),
    )
    .groupBy(sql`1`)
    .orderBy(sql`1`);
  return rows.map((row) => ({ ...row, periodSeconds: stepSeconds }));
}

const DAY_MS = 86_400_000;

/** Thins polls older than a day to averages and maxima of five minutes, and drops what is older than a year. */
export async function thinServerSamples(db: Db, now: Date): Promise<void> {
  // Cut at a multiple of five minutes, so that no stretch is thinned in two parts.
  const cut = new Date(Math.floor((now.getTime() - DAY_MS) / 300_000) * 300_000).toISOString();
  await db.execute(sql`
    with raw as (
      delete from ${serverSamples} where period_seconds = 0 and sampled_at < ${cut}::timestamptz returning *
    )
    insert into ${serverSamples} (server_id, sampled_at, period_seconds, players_average, players_maximum, max_players, online_share)
    select server_id, to_timestamp(floor(extract(epoch from sampled_at) / 300) * 300), 300,
      avg(players_average), max(players_maximum), max(max_players), avg(online_share)
    from raw group by 1, 2
    on conflict do nothing`);
  await db.delete(serverSamples).where(lt(serverSamples.sampledAt, new Date(now.getTime() - 365 * DAY_MS)));
}

/** A name made url-safe: lower case, without diacritics, words joined by hyphens; `server` when nothing is left. */
export function toSlug(name: string): string {
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
