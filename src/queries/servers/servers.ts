import { and, asc, eq, ne, sql } from 'drizzle-orm';
import { type Db, inTransaction, prepareOnce, type Reads, type Tx } from '../../db/client.ts';
import { penaltyTallies, serverAliases, TALLY_PERIODS, TALLY_SCOPES } from '../../db/schema/penalties.ts';
import { removedServers, serverSnapshots, servers } from '../../db/schema/servers.ts';
import { Conflict, InvalidInput, NotFound } from '../../domain/errors.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { parseServerAddress } from '../../domain/server-address.ts';
import { foldText } from '../../domain/text/fold-text.ts';
import { hasVisibleCharacter } from '../../domain/text/visible-text.ts';
import { recordAudit } from '../audit-log.ts';

export type Server = typeof servers.$inferSelect;
type ServerSnapshot = typeof serverSnapshots.$inferSelect;
/** A listed server and its latest poll; without one it has never been polled. */
export type ServerStatus = { server: Server; snapshot: ServerSnapshot | null };

/** In code points. */
const MAX_NAME_LENGTH = 128;

/** All servers that are not hidden, by name, with their latest poll. */
export async function listServerStatuses(db: Db): Promise<ServerStatus[]> {
  return (await shownServers(db).execute()).map(toStatus);
}

const shownServers = prepareOnce('server_statuses', (db) =>
  selectStatuses(db).where(eq(servers.isHidden, false)).orderBy(asc(servers.name), asc(servers.id)),
);

/** All servers with their latest poll, hidden ones too, by id. */
export async function listAllServerStatuses(db: Db): Promise<ServerStatus[]> {
  return (await selectStatuses(db).orderBy(asc(servers.id))).map(toStatus);
}

function selectStatuses(db: Reads) {
  return db
    .select({ server: servers, snapshot: serverSnapshots })
    .from(servers)
    .leftJoin(serverSnapshots, eq(serverSnapshots.serverId, servers.id));
}

/** All servers, hidden ones too, by id. */
export async function listServers(db: Db): Promise<Server[]> {
  return (await db.select().from(servers).orderBy(asc(servers.id))).map(withShownName);
}

/** A server by either of its addresses, as configured; letter case is ignored, as in host names. */
export async function findServerByAddress(db: Db | Tx, address: string): Promise<Server | undefined> {
  const [server] = await db
    .select()
    .from(servers)
    .where(sql`lower(${address}) in (lower(${servers.address}), lower(${servers.publicAddress}))`);
  return server;
}

/** The address at which players reach a server. */
export function shownAddressOf({
  address,
  publicAddress,
}: Pick<Server, 'address' | 'publicAddress'>): string {
  return publicAddress ?? address;
}

/**
 * Checks the addresses of a server; absent ones are not.
 * @throws {InvalidInput} for one that is not allowed; {@link Conflict} when it is one of another server.
 */
async function checkAddresses(
  tx: Tx,
  {
    id,
    address,
    publicAddress,
  }: { id?: number; address?: string | undefined; publicAddress?: string | null | undefined },
): Promise<void> {
  for (const each of [address, publicAddress]) {
    if (each === undefined || each === null) continue;
    parseServerAddress(each);
    const holder = await findServerByAddress(tx, each);
    if (holder && holder.id !== id) {
      throw new Conflict(`The address ${each} already belongs to ${holder.slug}`);
    }
  }
}

/** The name of a server, or its slug if the name has no visible character (set by SQL or an early version). */
export function shownNameOf({ name, slug }: Pick<Server, 'name' | 'slug'>): string {
  return hasVisibleCharacter(name) ? name : slug;
}

function withShownName(server: Server): Server {
  return { ...server, name: shownNameOf(server) };
}

function toStatus({ server, snapshot }: ServerStatus): ServerStatus {
  return { server: withShownName(server), snapshot };
}

/** Removed servers by their addresses, as they were configured. */
export async function listRemovedServers(db: Db | Tx): Promise<{ id: number; address: string }[]> {
  const { serverId: id, address } = removedServers;
  return db.select({ id, address }).from(removedServers).orderBy(asc(id));
}

/**
 * Adds a server, under its former id if it was removed. The slug defaults to the URL-safe name, numbered if that is taken.
 * A hidden server with this address, as mirrors add them, is listed with these values instead, and keeps its slug.
 * @throws {InvalidInput} for a name, slug or address that is not allowed.
 * @throws {Conflict} when the slug given, or an address, belongs to another server.
 */
export async function addServer(
  db: Db,
  { name, slug, actor, formerId, ...options }: NewServer,
): Promise<Server> {
  const label = parseServerName(name);
  const { address, publicAddress } = options;
  if (slug !== undefined && !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(slug)) {
    throw new InvalidInput(
      `slug ${JSON.stringify(slug)} isn't valid: use lower-case letters, digits and single hyphens`,
    );
  }
  return inTransaction(db, async (tx) => {
    const hidden = options.isHidden ? undefined : await findServerByAddress(tx, address);
    if (hidden?.isHidden) {
      await checkAddresses(tx, { id: hidden.id, publicAddress });
      const values = { ...options, name: label, address: hidden.address, isHidden: false };
      const [listed = hidden] = await tx
        .update(servers)
        .set(values)
        .where(eq(servers.id, hidden.id))
        .returning();
      await recordAudit(tx, {
        actor,
        action: 'server.shown',
        subject: hidden.slug,
        details: { name: label },
      });
      return listed;
    }
    await checkAddresses(tx, options);
    for (let number = 1; ; number++) {
      const suffix = number === 1 ? '' : `-${number}`;
      const removed = await listRemovedServers(tx);
      const id = removed.find((each) =>
        formerId === undefined ? [address, publicAddress].includes(each.address) : each.id === formerId,
      )?.id;
      const [row] = await tx
        .insert(servers)
        .overridingSystemValue()
        .values({
          ...options,
          ...(id !== undefined && { id }),
          name: label,
          slug: slug ?? toSlug(label) + suffix,
        })
        .onConflictDoNothing()
        .returning();
      if (row) {
        await tx.delete(removedServers).where(eq(removedServers.serverId, row.id));
        const details = { address, ...(publicAddress && { publicAddress }) };
        await recordAudit(tx, { actor, action: 'server.added', subject: row.slug, details });
        return row;
      }
      // Another process may have added a server meanwhile.
      await checkAddresses(tx, options);
      if (slug !== undefined) throw new Conflict(`The slug ${slug} is taken: choose another with --slug`);
    }
  });
}

/** A server's name, trimmed. @throws {InvalidInput} when it is too long or has no visible character. */
function parseServerName(name: string): string {
  const label = name.trim();
  // Counted in code points, not UTF-16 units.
  if ([...label].length <= MAX_NAME_LENGTH && !label.includes('\0') && hasVisibleCharacter(label))
    return label;
  throw new InvalidInput(
    `name ${JSON.stringify(name.slice(0, 64))} isn't valid: use 1 to ${MAX_NAME_LENGTH} characters, at least one of them visible`,
  );
}

/** Addresses are `host:port`; the host may be a name, IPv4, or IPv6 in brackets. */
type NewServer = Omit<typeof servers.$inferInsert, 'id' | 'slug' | 'position' | 'createdAt'> & {
  slug?: string | undefined;
  /** Its id before it was removed, of {@link listRemovedServers}; by default that of its addresses. */
  formerId?: number | undefined;
  actor: Actor;
};

/** @throws {NotFound} when no server has this slug. */
export async function requireServer(db: Db, slug: string): Promise<{ id: number }> {
  const [server] = await db.select({ id: servers.id }).from(servers).where(eq(servers.slug, slug));
  if (server) return server;
  throw unknownServer(slug);
}

function unknownServer(slug: string): NotFound {
  return new NotFound(`There is no server ${JSON.stringify(slug)}`);
}

/** @throws {NotFound} when no server has this slug. */
export async function removeServer(db: Db, slug: string, { actor }: { actor: Actor }): Promise<void> {
  await inTransaction(db, async (tx) => {
    const [server] = await tx.delete(servers).where(eq(servers.slug, slug)).returning();
    if (!server) throw unknownServer(slug);
    for (const address of [server.address, server.publicAddress]) {
      if (address === null) continue;
      const removed = { address, serverId: server.id };
      await tx
        .insert(removedServers)
        .values(removed)
        .onConflictDoUpdate({ target: removedServers.address, set: removed });
    }
    await recordAudit(tx, { actor, action: 'server.removed', subject: slug });
  });
}

/**
 * Lists and polls a server, or hides it. A hidden server is not polled, so the names of its last players would stay for
 * good: they are deleted.
 * @throws {NotFound} when no server has this slug.
 */
export async function setServerHidden(
  db: Db,
  slug: string,
  { isHidden, actor }: { isHidden: boolean; actor: Actor },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const [changed] = await tx
      .update(servers)
      .set({ isHidden })
      .where(eq(servers.slug, slug))
      .returning({ id: servers.id });
    if (!changed) throw unknownServer(slug);
    if (isHidden) {
      await tx.update(serverSnapshots).set({ players: [] }).where(eq(serverSnapshots.serverId, changed.id));
    }
    await recordAudit(tx, { actor, action: isHidden ? 'server.hidden' : 'server.shown', subject: slug });
  });
}

/** Lists and polls every hidden server. @returns their slugs. */
export async function showHiddenServers(db: Db, { actor }: { actor: Actor }): Promise<string[]> {
  return inTransaction(db, async (tx) => {
    const shown = await tx
      .update(servers)
      .set({ isHidden: false })
      .where(eq(servers.isHidden, true))
      .returning({ slug: servers.slug });
    for (const { slug } of shown) await recordAudit(tx, { actor, action: 'server.shown', subject: slug });
    return shown.map(({ slug }) => slug).sort();
  });
}

/** A name as a URL-safe slug: lower case, without diacritics, words joined by hyphens; `server` when nothing is left. */
function toSlug(name: string): string {
  const slug = foldText(name)
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 64)
    .replace(/-+$/, '');
  return slug === '' ? 'server' : slug;
}

export type ServerAlias = typeof serverAliases.$inferSelect;

/** Which of our servers the ids of a penalty source stand for. */
export async function listServerAliases(db: Db, source: string): Promise<ServerAlias[]> {
  return db.select().from(serverAliases).where(eq(serverAliases.source, source));
}

/** Saves which of our servers an id of a source stands for. */
export async function saveServerAlias(db: Db, alias: ServerAlias): Promise<void> {
  const { serverId, address } = alias;
  await db
    .insert(serverAliases)
    .values(alias)
    .onConflictDoUpdate({
      target: [serverAliases.source, serverAliases.sourceServerId],
      set: { serverId, address },
    });
}

/** Absent values stay unchanged. */
export type ServerChanges = Partial<
  Pick<Server, 'name' | 'address' | 'publicAddress' | 'mode' | 'region' | 'position'>
>;

/**
 * Changes a server; its history, slug and penalties are kept.
 * @throws {InvalidInput} for a name or address that is not allowed.
 * @throws {NotFound} when no server has this slug; {@link Conflict} when an address belongs to another one.
 */
export async function saveServerChanges(
  db: Db,
  slug: string,
  { changes, actor }: { changes: ServerChanges; actor: Actor },
): Promise<Server> {
  const values = { ...changes, ...(changes.name !== undefined && { name: parseServerName(changes.name) }) };
  return inTransaction(db, async (tx) => {
    const [server] = await tx.select().from(servers).where(eq(servers.slug, slug)).for('update');
    if (!server) throw unknownServer(slug);
    await checkAddresses(tx, { ...values, id: server.id });
    const [changed = server] = await tx
      .update(servers)
      .set(values)
      .where(eq(servers.id, server.id))
      .returning();
    await recordAudit(tx, { actor, action: 'server.changed', subject: slug, details: values });
    return changed;
  });
}

/** A server that penalties name; without name for one that is no longer here, without slug for that and a hidden one. */
export type PenaltyServer = { id: number; name: string | null; slug: string | null; penalties: number };

/** Every server that a penalty names, by id, with the number of its penalties. */
export async function listPenaltyServers(db: Reads): Promise<PenaltyServer[]> {
  const { serverId, counts, scope, period } = penaltyTallies;
  const total = sql<number>`(select sum(count)::int from unnest(${counts}) as count)`;
  const rows = await db
    .select({ id: serverId, server: servers, penalties: total })
    .from(penaltyTallies)
    .leftJoin(servers, eq(servers.id, serverId))
    .where(
      and(eq(scope, TALLY_SCOPES.server), eq(period, TALLY_PERIODS.ever), ne(serverId, 0), sql`${total} > 0`),
    )
    .orderBy(asc(serverId));
  return rows.map(({ id, server, penalties }) => ({
    id,
    name: server && shownNameOf(server),
    slug: server && !server.isHidden ? server.slug : null,
    penalties,
  }));
}
