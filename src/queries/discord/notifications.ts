import { and, asc, eq, gt, isNotNull, isNull, lte, ne, or, type SQL, sql } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../../db/client.ts';
import { LOCKS } from '../../db/locks.ts';
import { discordNotifications } from '../../db/schema/discord.ts';
import { servers } from '../../db/schema/servers.ts';
import { shownNameOf } from '../servers/servers.ts';

export type DiscordNotification = typeof discordNotifications.$inferSelect;

/** How many servers a person can get notifications about. */
export const MAX_NOTIFICATIONS = 10;
/** The least time between two notifications of a person about one server. */
const APART_MS = 6 * 3_600_000;

/** Whether a person can get notifications about a server: they already do, or have fewer than the maximum. */
export async function hasRoomForNotification(
  db: Db | Tx,
  { discordId, serverId }: Pick<DiscordNotification, 'discordId' | 'serverId'>,
): Promise<boolean> {
  const isOther = and(
    eq(discordNotifications.discordId, discordId),
    ne(discordNotifications.serverId, serverId),
  );
  return (await db.$count(discordNotifications, isOther)) < MAX_NOTIFICATIONS;
}

/**
 * Saves a person's notification about a server, replacing an earlier one.
 * @returns false when they have the maximum number of servers already.
 */
export async function saveNotification(
  db: Db,
  notification: Omit<DiscordNotification, 'notifiedAt' | 'pausedAt' | 'createdAt'>,
): Promise<boolean> {
  const { discordId, playersAtLeast, locale, isArmed } = notification;
  return inTransaction(db, async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.notifications}, hashtext(${discordId}))`);
    if (!(await hasRoomForNotification(tx, notification))) return false;
    await tx
      .insert(discordNotifications)
      .values(notification)
      .onConflictDoUpdate({
        target: [discordNotifications.discordId, discordNotifications.serverId],
        set: { playersAtLeast, locale, isArmed },
      });
    return true;
  });
}

/** A person's notifications by the names of the servers, hidden ones too. */
export async function listNotificationsOf(
  db: Db,
  discordId: string,
): Promise<(Pick<DiscordNotification, 'serverId' | 'playersAtLeast'> & { slug: string; name: string })[]> {
  const { serverId, playersAtLeast } = discordNotifications;
  const rows = await db
    .select({ serverId, playersAtLeast, name: servers.name, slug: servers.slug })
    .from(discordNotifications)
    .innerJoin(servers, eq(servers.id, serverId))
    .where(eq(discordNotifications.discordId, discordId))
    .orderBy(asc(servers.position), asc(servers.name), asc(servers.id));
  return rows.map((row) => ({ ...row, name: shownNameOf(row) }));
}

/**
 * Ends somebody's notifications.
 * @param serverId undefined: of all servers.
 * @returns how many there were.
 */
export async function removeNotifications(db: Db, discordId: string, serverId?: number): Promise<number> {
  const { count } = await db
    .delete(discordNotifications)
    .where(
      and(
        eq(discordNotifications.discordId, discordId),
        serverId === undefined ? undefined : eq(discordNotifications.serverId, serverId),
      ),
    );
  return count;
}

/** Pauses all notifications of somebody who accepts no messages from the bot. */
export async function pauseNotifications(db: Db, discordId: string, pausedAt: Date): Promise<void> {
  await db
    .update(discordNotifications)
    .set({ pausedAt })
    .where(eq(discordNotifications.discordId, discordId));
}

/** Resumes somebody's notifications. @returns whether they were paused. */
export async function resumeNotifications(db: Db, discordId: string): Promise<boolean> {
  const { count } = await db
    .update(discordNotifications)
    .set({ pausedAt: null })
    .where(and(eq(discordNotifications.discordId, discordId), isNotNull(discordNotifications.pausedAt)));
  return count > 0;
}

/** Arms the notifications of servers whose players stayed clearly below the number. @param peaks the most players they had. */
export async function armNotifications(
  db: Db,
  peaks: readonly { serverId: number; peak: number }[],
): Promise<void> {
  if (peaks.length === 0) return;
  const values = peaks.map(({ serverId, peak }) => sql`(${serverId}::int, ${peak}::int)`);
  const peakOf = numberOf(values);
  const { isArmed, playersAtLeast } = discordNotifications;
  await db
    .update(discordNotifications)
    .set({ isArmed: true })
    .where(and(eq(isArmed, false), sql`4 * ${peakOf} <= 3 * ${playersAtLeast}`));
}

/** Lists the notifications that are due. @param counts of servers; nothing is due about others. */
export async function listDueNotifications(
  db: Db,
  counts: readonly { serverId: number; players: number }[],
  now: Date,
): Promise<DiscordNotification[]> {
  if (counts.length === 0) return [];
  const values = counts.map(({ serverId, players }) => sql`(${serverId}::int, ${players}::int)`);
  const isReached = sql`${discordNotifications.playersAtLeast} <= ${numberOf(values)}`;
  return db
    .select()
    .from(discordNotifications)
    .where(and(isReached, mayBeSent(now)));
}

/** A notification if it may be sent now; undefined also if the person has ended it. */
export async function findSendableNotification(
  db: Db,
  { discordId, serverId }: DiscordNotification,
  now: Date,
): Promise<DiscordNotification | undefined> {
  const [row] = await db
    .select()
    .from(discordNotifications)
    .where(and(isOf(discordId, serverId), mayBeSent(now)));
  return row;
}

function mayBeSent(now: Date): SQL | undefined {
  const { isArmed, pausedAt, notifiedAt } = discordNotifications;
  // A time in the future was recorded while a clock was ahead.
  const isLater = or(
    isNull(notifiedAt),
    lte(notifiedAt, new Date(now.getTime() - APART_MS)),
    gt(notifiedAt, now),
  );
  return and(eq(isArmed, true), isNull(pausedAt), isLater);
}

/** Records that somebody was notified, unless they have changed what they asked for meanwhile. */
export async function finishNotification(
  db: Db,
  { discordId, serverId, playersAtLeast }: DiscordNotification,
  notifiedAt: Date,
): Promise<void> {
  await db
    .update(discordNotifications)
    .set({ isArmed: false, notifiedAt })
    .where(and(isOf(discordId, serverId), eq(discordNotifications.playersAtLeast, playersAtLeast)));
}

function isOf(discordId: string, serverId: number): SQL | undefined {
  return and(eq(discordNotifications.discordId, discordId), eq(discordNotifications.serverId, serverId));
}

/** The value of a notification's server among pairs of a server's id and a number; null without one. */
function numberOf(pairs: readonly SQL[]): SQL {
  return sql`(select value from (values ${sql.join([...pairs], sql`, `)}) as by_server (server_id, value)
    where by_server.server_id = ${discordNotifications.serverId})`;
}
