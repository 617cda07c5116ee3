import { and, count, desc, eq, gt, inArray } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { sessions, users } from '../db/schema.ts';
import type { User } from './users.ts';

export type Session = { idHash: string; seenAt: Date; expiresAt: Date; user: User };

/** Sessions that a user has at once; a further one ends the one that was used longest ago. */
const MAX_SESSIONS = 100;

/** Opens a session; only the hash of its id is kept, so that a copy of the table signs nobody in. */
export async function createSession(
  db: Db,
  session: { idHash: string; userId: number; expiresAt: Date; now: Date },
): Promise<void> {
  const { idHash, userId, expiresAt, now } = session;
  await db.insert(sessions).values({ idHash, userId, expiresAt, createdAt: now, seenAt: now });
  const surplus = db
    .select({ idHash: sessions.idHash })
    .from(sessions)
    .where(eq(sessions.userId, userId))
    .orderBy(desc(sessions.seenAt), desc(sessions.idHash))
    .offset(MAX_SESSIONS);
  await db.delete(sessions).where(inArray(sessions.idHash, surplus));
}

/** The session and its user as they are now, unless it has ended. */
export async function findSession(db: Db, idHash: string, now: Date): Promise<Session | undefined> {
  const [row] = await db
    .select({ session: sessions, user: users })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(and(eq(sessions.idHash, idHash), gt(sessions.expiresAt, now)));
  if (!row) return undefined;
  return { idHash, seenAt: row.session.seenAt, expiresAt: row.session.expiresAt, user: row.user };
}

/** Moves the end of a session that is in use. A session that was ended meanwhile stays ended. */
export async function extendSession(
  db: Db,
  idHash: string,
  { expiresAt, now }: { expiresAt: Date; now: Date },
): Promise<void> {
  await db.update(sessions).set({ expiresAt, seenAt: now }).where(eq(sessions.idHash, idHash));
}

/** Ends a session; one that is gone already is no error. */
export async function deleteSession(db: Db, idHash: string): Promise<void> {
  await db.delete(sessions).where(eq(sessions.idHash, idHash));
}

/** Ends every session of a user; gives how many there were. */
export async function deleteSessionsOf(db: Db, userId: number): Promise<number> {
  const ended = await db.delete(sessions).where(eq(sessions.userId, userId));
  return ended.count;
}

/** How many sessions of a user are open at `now`. */
export async function countSessionsOf(db: Db, userId: number, now: Date): Promise<number> {
  const [open] = await db
    .select({ count: count() })
    .from(sessions)
    .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, now)));
  return open?.count ?? 0;
}
