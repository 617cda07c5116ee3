import { and, desc, eq, gt, inArray, sql } from 'drizzle-orm';
import { type Db, inTransaction, prepareOnce, type Tx } from '../../db/client.ts';
import { sessions, usedNonces, users } from '../../db/schema/accounts.ts';
import { appeals } from '../../db/schema/appeals.ts';
import { hasErrorCode, NotFound } from '../../domain/errors.ts';
import { recordAudit } from '../audit-log.ts';
import type { User } from './users.ts';

export type OpenSession = typeof sessions.$inferSelect;
export type Session = OpenSession & { user: User; appeals: AppealsOfUser };

/** The appeals that wait for a user, shown on every page. */
type AppealsOfUser = {
  /** An appeal of theirs that staff asked about. */
  askedId: number | null;
  /** Those that wait for staff, without their own; null unless they are staff. */
  waitingForStaff: number | null;
};

type NewSession = Omit<OpenSession, 'createdAt' | 'seenAt'> & { now: Date };

/** The most sessions of a user; another one ends the least recently used. */
const MAX_SESSIONS = 100;

const FOREIGN_KEY_VIOLATION = '23503';

/** A session ends this long after the sign-in, even if it is in use. */
export const MAX_SESSION_MS = 180 * 86_400_000;

/**
 * Creates a session; only the hash of its id is stored, so that a stolen table is of no use for signing in.
 * @throws {NotFound} when the user deleted their account during the sign-in.
 */
export async function createSession(db: Db, { now, ...session }: NewSession): Promise<void> {
  const { userId } = session;
  await db
    .insert(sessions)
    .values({ ...session, createdAt: now, seenAt: now })
    .catch((cause: unknown) => {
      throw hasErrorCode(cause, [FOREIGN_KEY_VIOLATION])
        ? new NotFound('The account was deleted', { cause })
        : cause;
    });
  const surplus = db
    .select({ idHash: sessions.idHash })
    .from(sessions)
    .where(eq(sessions.userId, userId))
    .orderBy(desc(sessions.seenAt), desc(sessions.idHash))
    .offset(MAX_SESSIONS);
  await db.delete(sessions).where(inArray(sessions.idHash, surplus));
}

/** A session that has not ended, with its user. */
export async function findSession(db: Db, idHash: string, now: Date): Promise<Session | undefined> {
  const [row] = await byIdHash(db).execute({ idHash });
  if (!row || row.session.expiresAt <= now || lastEndOf(row.session) <= now) return undefined;
  return { ...row.session, user: row.user, appeals: row.appeals };
}

const APPEALS_OF_USER = {
  askedId: sql<number | null>`(select min(${appeals.id}) from ${appeals}
    where ${appeals.playerSteamId} = ${users.steamId64} and ${appeals.waitsFor} = 'player')`,
  waitingForStaff: sql<
    number | null
  >`case when ${users.isOwner} or ${users.isAdmin} or ${users.isModerator} then (
    select count(*)::integer from ${appeals}
    where ${appeals.waitsFor} = 'staff' and ${appeals.playerSteamId} <> ${users.steamId64}) end`,
};

const byIdHash = prepareOnce('session', (db) =>
  db
    .select({ session: sessions, user: users, appeals: APPEALS_OF_USER })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(eq(sessions.idHash, sql.placeholder('idHash'))),
);

/** The latest possible end of a session. */
export function lastEndOf({ createdAt }: { createdAt: Date }): Date {
  return new Date(createdAt.getTime() + MAX_SESSION_MS);
}

/** Extends a session that is in use. A session that was ended meanwhile stays ended. */
export async function extendSession(
  db: Db,
  idHash: string,
  { expiresAt, now }: { expiresAt: Date; now: Date },
): Promise<void> {
  await db.update(sessions).set({ expiresAt, seenAt: now }).where(eq(sessions.idHash, idHash));
}

/** Ends a session; not an error if it has ended already. */
export async function deleteSession(db: Db, idHash: string): Promise<void> {
  await db.delete(sessions).where(eq(sessions.idHash, idHash));
}

/** Ends all sessions of a user, at their own request. */
export async function deleteSessionsOf(
  db: Db,
  { id: userId, steamId64 }: Pick<User, 'id' | 'steamId64'>,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const ended = await tx.delete(sessions).where(eq(sessions.userId, userId));
    await recordAudit(tx, {
      actor: { userId },
      action: 'user.signed-out-everywhere',
      subject: steamId64,
      details: { sessions: ended.count },
    });
  });
}

/** Ends one session of a user, at their own request; not an error if it has ended already. */
export async function endSessionOf(
  db: Db,
  { id: userId, steamId64 }: Pick<User, 'id' | 'steamId64'>,
  idHash: string,
): Promise<void> {
  await inTransaction(db, async (tx) => {
    const ended = await tx
      .delete(sessions)
      .where(and(eq(sessions.userId, userId), eq(sessions.idHash, idHash)))
      .returning({ browser: sessions.browser, system: sessions.system });
    for (const details of ended) {
      await recordAudit(tx, {
        actor: { userId },
        action: 'user.session-ended',
        subject: steamId64,
        details,
      });
    }
  });
}

/** The sessions of a user that are open at `now`, last used first. */
export async function listOpenSessions(db: Db, userId: number, now: Date): Promise<OpenSession[]> {
  return db
    .select()
    .from(sessions)
    .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, now)))
    .orderBy(desc(sessions.seenAt), desc(sessions.createdAt));
}

/**
 * Claims a value that may be used once; false when it was used before. Of two concurrent attempts, in any processes,
 * exactly one succeeds.
 * @param expiresAt after this the value is invalid anyway, so that the row may be deleted.
 */
export async function claimNonce(db: Db | Tx, nonce: string, expiresAt: Date): Promise<boolean> {
  const { count } = await db.insert(usedNonces).values({ nonce, expiresAt }).onConflictDoNothing();
  return count === 1;
}
