import { and, eq, gt, isNull, lte, ne, or, sql } from 'drizzle-orm';
import { type Db, inTransaction } from '../../db/client.ts';
import { LOCKS } from '../../db/locks.ts';
import { discordNotifications } from '../../db/schema/discord.ts';

export type DiscordNotification = typeof discordNotifications.$inferSelect;

/** How many servers somebody can be notified of. */
export const MAX_NOTIFICATIONS = 10;
const HOUR_MS = 3_600_000;

/**
 * Saves that somebody wants to be notified of a server, replacing what they asked for before.
 * @returns false when they have the maximum number of servers already.
 */
export async function saveNotification(
  db: Db,
  notification: Omit<DiscordNotification, 'notifiedAt' | 'createdAt'>,
): Promise<boolean> {
  const { discordId, serverId, playersAtLeast, locale, isArmed } = notification;
  return inTransaction(db, async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.notifications}, hashtext(${discordId}))`);
    const others = await tx.$count(
      discordNotifications,
      and(eq(discordNotifications.discordId, discordId), ne(discordNotifications.serverId, serverId)),
    );
    if (others >= MAX_NOTIFICATIONS) return false;
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

/** How many players are on a server. */
type PlayerCount = { serverId: number; players: number };

/**
 * Arms the notifications whose servers have too few players, and lists those that are due.
 * Nobody is notified of a server twice within an hour.
 * @param counts of servers; nothing is due about others.
 */
export async function listDueNotifications(
  db: Db,
  counts: readonly PlayerCount[],
  now: Date,
): Promise<DiscordNotification[]> {
  if (counts.length === 0) return [];
  const { serverId, playersAtLeast, isArmed, notifiedAt } = discordNotifications;
  const values = sql.join(
    counts.map((count) => sql`(${count.serverId}::int, ${count.players}::int)`),
    sql`, `,
  );
  const playersOn = sql`(select current.players from (values ${values}) as current (server_id, players)
    where current.server_id = ${serverId})`;
  const mustArm = and(eq(isArmed, false), sql`${playersAtLeast} > ${playersOn}`);
  const isDue = and(
    eq(isArmed, true),
    sql`${playersAtLeast} <= ${playersOn}`,
    // A message that is dated later was sent while a clock was ahead.
    or(isNull(notifiedAt), lte(notifiedAt, new Date(now.getTime() - HOUR_MS)), gt(notifiedAt, now)),
  );
  const rows = await db.select().from(discordNotifications).where(or(mustArm, isDue));
  const due = rows.filter((row) => row.isArmed);
  // Asked for after each poll: most of the time there is nothing to write.
  if (due.length < rows.length) await db.update(discordNotifications).set({ isArmed: true }).where(mustArm);
  return due;
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
    .where(
      and(
        eq(discordNotifications.discordId, discordId),
        eq(discordNotifications.serverId, serverId),
        eq(discordNotifications.playersAtLeast, playersAtLeast),
      ),
    );
}
