import {
  and,
  asc,
  count,
  desc,
  eq,
  gt,
  inArray,
  isNotNull,
  isNull,
  ne,
  or,
  type SQL,
  sql,
} from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../db/client.ts';
import { users } from '../db/schema/accounts.ts';
import { appealMessages, appeals } from '../db/schema/appeals.ts';
import { penalties } from '../db/schema/penalties.ts';
import {
  APPEAL_LENGTH,
  type AppealNews,
  type AppealRefusal,
  AppealRefused,
  type AppealState,
  isOfPlayer,
  MAX_PLAYER_MESSAGES,
  MESSAGE_LENGTH,
  type MessageKind,
  mayHandleAppeal,
  PLAYER_MESSAGE_KINDS,
  parseAppealText,
  type StaffAction,
  whyNoAppeal,
} from '../domain/appeal.ts';
import { Forbidden, NotFound } from '../domain/errors.ts';
import type { Language } from '../domain/language.ts';
import type { PenaltyType } from '../domain/penalty.ts';
import { mayReadRecords } from '../domain/rights/administrator.ts';
import type { SteamId64 } from '../domain/steam-id.ts';
import { recordAudit } from './audit-log.ts';
import { recordEvent } from './penalties/events.ts';
import { statusSql } from './penalties/filter.ts';
import { findPenalty, type PenaltyDetails } from './penalties/row.ts';
import { holdOffErasures } from './personal-data/tombstones.ts';
import { lockActingUser } from './users/users.ts';

export type Appeal = typeof appeals.$inferSelect;

/** A message of an appeal; the author is null for the player's, and for staff whose account was deleted. */
export type AppealMessage = Pick<typeof appealMessages.$inferSelect, 'id' | 'kind' | 'text' | 'createdAt'> & {
  author: { steamId64: SteamId64; nickname: string } | null;
};

/** What webhooks and feeds get of an appeal. */
export type AppealPayload = {
  id: number;
  state: AppealState;
  is_carried_out: boolean;
  penalty_id: number;
  player_steamid: SteamId64;
};

/** Joins appeals with their penalties, but not one that its source has given to another player since. */
export const IS_APPEALED = and(
  eq(penalties.id, appeals.penaltyId),
  eq(penalties.playerSteamId, appeals.playerSteamId),
);

type Writing = { text: string; userId: number; now: Date };

/**
 * Opens an appeal of the acting user against one of their penalties.
 * @param tx a transaction that has locked nothing about people yet, as in the functions below.
 * @param options.againDays as in {@link whyNoAppeal}.
 * @returns the id.
 * @throws {WrongLength} · {NotFound} when the penalty is not theirs · {AppealRefused} · {Blocked}
 */
export async function openAppeal(
  tx: Tx,
  {
    penaltyId,
    text,
    wantsMessages,
    userId,
    now,
    againDays,
    locale,
  }: Writing & { penaltyId: number; wantsMessages: boolean; againDays: number; locale: Language },
): Promise<number> {
  const words = parseAppealText(text, APPEAL_LENGTH);
  await holdOffErasures(tx);
  const user = await lockActingUser(tx, userId, { mayAct: () => true, isAlone: true });
  const details = await findPenalty(tx, penaltyId, now);
  if (details?.penalty.playerSteamId !== user.steamId64) throw new NotFound('no such penalty of this player');
  const refusal = await findAppealRefusal(tx, details, { againDays, now });
  if (refusal) throw new AppealRefused(refusal);
  const [appeal] = await tx
    .insert(appeals)
    .values({ penaltyId, playerSteamId: user.steamId64, openedAt: now, wantsMessages, locale })
    .returning();
  if (!appeal) throw new Error('the appeal was not inserted');
  await addMessage(tx, appeal, { kind: 'opened', text: words, userId, now });
  await recordEvent(tx, 'appeal.opened', presentAppeal(appeal));
  return appeal.id;
}

/** Why the player of a penalty cannot appeal against it; undefined: they can. */
export async function findAppealRefusal(
  db: Db | Tx,
  { penalty, isRemoved }: PenaltyDetails,
  options: { againDays: number; now: Date },
): Promise<AppealRefusal | undefined> {
  if (penalty.status !== 'ACTIVE' || isRemoved) return 'not-in-force';
  return whyNoAppeal(penalty.id, await listAppealsOf(db, penalty.playerSteamId), options);
}

/**
 * Adds a message of the player.
 * @throws {WrongLength} · {NotFound} when the appeal is not theirs · {AppealRefused} · {Blocked}
 */
export async function answerAppeal(tx: Tx, appealId: number, { text, userId, now }: Writing): Promise<void> {
  const words = parseAppealText(text, MESSAGE_LENGTH);
  await holdOffErasures(tx);
  const user = await lockActingUser(tx, userId, { mayAct: () => true });
  const appeal = await lockAppeal(tx, appealId);
  if (appeal?.playerSteamId !== user.steamId64) throw new NotFound('no such appeal of this player');
  if (appeal.state !== 'undecided') throw new AppealRefused('decided');
  const isTheirs = and(
    eq(appealMessages.appealId, appealId),
    inArray(appealMessages.kind, PLAYER_MESSAGE_KINDS),
  );
  if ((await tx.$count(appealMessages, isTheirs)) >= MAX_PLAYER_MESSAGES) {
    throw new AppealRefused('too-many-messages');
  }
  await addMessage(tx, appeal, { kind: 'answered', text: words, userId, now });
  await recordEvent(tx, 'appeal.answered', presentAppeal(appeal));
}

/**
 * Asks the player something, or decides. Accepting lifts nothing here: the source has to.
 * @throws {WrongLength} · {NotFound} · {Forbidden} for their own appeal, and for whoever is no longer a moderator
 * · {AppealRefused} when somebody else decided first.
 */
export async function actOnAppeal(
  tx: Tx,
  appealId: number,
  { action, text, userId, now }: Writing & { action: StaffAction },
): Promise<void> {
  const words = parseAppealText(text, MESSAGE_LENGTH);
  await holdOffErasures(tx);
  const user = await lockActingUser(tx, userId, { mayAct: mayReadRecords });
  const appeal = await lockAppeal(tx, appealId);
  if (!appeal) throw new NotFound('no such appeal');
  if (!mayHandleAppeal(user, appeal)) throw new Forbidden('nobody handles their own appeal');
  if (appeal.state !== 'undecided') throw new AppealRefused('decided');
  await addMessage(tx, appeal, { kind: action, text: words, userId, now });
  const changed = await changeAppeal(tx, appeal, {
    ...(action !== 'asked' && { state: action, decidedAt: now }),
    news: action,
  });
  await recordEvent(tx, action === 'asked' ? 'appeal.answered' : 'appeal.decided', presentAppeal(changed));
}

async function lockAppeal(tx: Tx, id: number): Promise<Appeal | undefined> {
  const [appeal] = await tx.select().from(appeals).where(eq(appeals.id, id)).for('update');
  return appeal;
}

/** Written to the audit log, without its text. */
async function addMessage(
  tx: Tx,
  appeal: Appeal,
  { kind, text, userId, now }: Writing & { kind: MessageKind },
): Promise<void> {
  await tx.insert(appealMessages).values({
    appealId: appeal.id,
    kind,
    text,
    authorUserId: isOfPlayer(kind) ? null : userId,
    createdAt: now,
  });
  await recordAudit(tx, {
    actor: { userId },
    action: `appeal.${kind}`,
    subject: appeal.playerSteamId,
    details: auditDetailsOf(appeal),
  });
}

function auditDetailsOf({ id, penaltyId }: Appeal) {
  return { appealId: id, penaltyId };
}

/** Also records the news for the player, if they want messages. */
async function changeAppeal(
  tx: Tx,
  appeal: Appeal,
  { news, ...changes }: Partial<Pick<Appeal, 'state' | 'decidedAt' | 'carriedOutAt'>> & { news?: AppealNews },
): Promise<Appeal> {
  const values = { ...changes, ...(news && appeal.wantsMessages && { untold: news }) };
  if (Object.keys(values).length > 0) await tx.update(appeals).set(values).where(eq(appeals.id, appeal.id));
  return { ...appeal, ...values };
}

function presentAppeal({ id, state, carriedOutAt, penaltyId, playerSteamId }: Appeal) {
  const appeal: AppealPayload = {
    id,
    state,
    is_carried_out: carriedOutAt !== null,
    penalty_id: penaltyId,
    player_steamid: playerSteamId,
  };
  return { appeal };
}

/**
 * Closes undecided appeals whose penalty ended, was lifted, was removed or is now of another player, and marks accepted ones
 * as carried out whose penalty is in force no more for a reason other than its end. Several processes may do it at once.
 * @returns how many appeals changed.
 */
export async function settleAppeals(db: Db, now: Date): Promise<number> {
  const isGone = or(isNull(penalties.id), isNotNull(penalties.goneAt));
  const at = sql`${now.toISOString()}::timestamptz`;
  const status = statusSql(at);
  // CS2-SimpleAdmin has no status for a lifted warning: it expires before its end.
  const isLiftedWarning = and(
    eq(penalties.type, 'warn'),
    eq(penalties.status, 'EXPIRED'),
    or(isNull(penalties.endsAt), gt(penalties.endsAt, at)),
  );
  const isDue = or(
    and(eq(appeals.state, 'undecided'), or(isGone, ne(status, 'ACTIVE'))),
    and(
      eq(appeals.state, 'accepted'),
      isNull(appeals.carriedOutAt),
      or(isGone, eq(penalties.status, 'UNBANNED'), isLiftedWarning),
    ),
  );
  const selectDue = (source: Db | Tx, where?: SQL) =>
    source
      .select({ appeal: appeals })
      .from(appeals)
      .leftJoin(penalties, IS_APPEALED)
      .where(and(isDue, where))
      .orderBy(asc(appeals.id));
  const due = await selectDue(db);
  for (const { appeal } of due) {
    await inTransaction(db, async (tx) => {
      await holdOffErasures(tx);
      const [row] = await selectDue(tx, eq(appeals.id, appeal.id)).for('update', { of: appeals });
      if (row) await settle(tx, row.appeal, now);
    });
  }
  return due.length;
}

async function settle(tx: Tx, appeal: Appeal, now: Date): Promise<void> {
  const isClosed = appeal.state === 'undecided';
  if (isClosed) {
    await recordAudit(tx, {
      actor: 'service',
      action: 'appeal.closed',
      subject: appeal.playerSteamId,
      details: auditDetailsOf(appeal),
    });
  }
  const changed = await changeAppeal(
    tx,
    appeal,
    isClosed ? { state: 'closed', decidedAt: now, news: 'closed' } : { carriedOutAt: now },
  );
  await recordEvent(tx, 'appeal.decided', presentAppeal(changed));
}

export type UntoldAppeal = {
  id: number;
  news: AppealNews;
  /** The message that is the news; null when the appeal was closed. */
  messageId: number | null;
  locale: Language;
  /** Null: the player has no linked account any more. */
  discordId: string | null;
};

/** The message that is the news of an appeal; null when the appeal was closed. */
const NEWS_MESSAGE = sql<number | null>`(select max(${appealMessages.id}) from ${appealMessages}
  where ${and(eq(appealMessages.appealId, appeals.id), eq(appealMessages.kind, appeals.untold))})`;

/** The appeals with news that is still to be sent on Discord. */
export async function listUntoldAppeals(db: Db): Promise<UntoldAppeal[]> {
  const rows = await db
    .select({
      id: appeals.id,
      news: appeals.untold,
      messageId: NEWS_MESSAGE,
      locale: appeals.locale,
      discordId: users.discordId,
    })
    .from(appeals)
    .leftJoin(users, eq(users.steamId64, appeals.playerSteamId))
    .where(isNotNull(appeals.untold))
    .orderBy(asc(appeals.id));
  return rows.flatMap(({ news, ...row }) => (news === null ? [] : [{ ...row, news }]));
}

/** Records that the news was sent, unless there is other news meanwhile, such as another question. */
export async function finishAppealNews(
  db: Db,
  { id, news, messageId }: UntoldAppeal,
  changes: Partial<Pick<Appeal, 'wantsMessages'>> = {},
): Promise<void> {
  const isSameMessage = sql`${NEWS_MESSAGE} is not distinct from ${messageId}::integer`;
  await db
    .update(appeals)
    .set({ untold: null, ...changes })
    .where(and(eq(appeals.id, id), eq(appeals.untold, news), isSameMessage));
}

/** All appeals of a player, the newest first. */
export function listAppealsOf(db: Db | Tx, steamId64: SteamId64): Promise<Appeal[]> {
  return db.select().from(appeals).where(eq(appeals.playerSteamId, steamId64)).orderBy(desc(appeals.id));
}

/** An appeal of the staff's list. The penalty is null when it is no longer stored, or now of another player. */
export type ListedAppeal = {
  appeal: Appeal;
  messages: number;
  penalty: Pick<typeof penalties.$inferSelect, 'type' | 'playerName' | 'reason'> | null;
};

type AppealFilter = { state?: AppealState | undefined; type?: PenaltyType | undefined };

/** A page of appeals: undecided ones first, the oldest first, then the others, the newest decision first. */
export async function listAppeals(
  db: Db,
  { state, type }: AppealFilter,
  { page, perPage }: { page: number; perPage: number },
): Promise<{ rows: ListedAppeal[]; total: number }> {
  const where = and(state && eq(appeals.state, state), type && eq(penalties.type, type));
  const { type: penaltyType, playerName, reason } = penalties;
  const [counted, rows] = await Promise.all([
    db.select({ total: count() }).from(appeals).leftJoin(penalties, IS_APPEALED).where(where),
    db
      .select({
        appeal: appeals,
        messages: db.$count(appealMessages, eq(appealMessages.appealId, appeals.id)),
        penalty: { type: penaltyType, playerName, reason },
      })
      .from(appeals)
      .leftJoin(penalties, IS_APPEALED)
      .where(where)
      .orderBy(
        sql`${appeals.decidedAt} is not null`,
        desc(appeals.decidedAt),
        asc(appeals.openedAt),
        asc(appeals.id),
      )
      .limit(perPage)
      .offset((page - 1) * perPage),
  ]);
  return { rows, total: counted[0]?.total ?? 0 };
}

export type AppealDetails = {
  appeal: Appeal;
  /** Oldest first. */
  messages: AppealMessage[];
  /** Undefined when it is no longer stored, or now of another player. */
  penalty: PenaltyDetails | undefined;
};

/** An appeal with its conversation and its penalty. */
export async function findAppeal(db: Db, id: number, now: Date): Promise<AppealDetails | undefined> {
  const [appeal] = await db.select().from(appeals).where(eq(appeals.id, id));
  if (!appeal) return undefined;
  const [messages, details] = await Promise.all([
    db
      .select({
        id: appealMessages.id,
        kind: appealMessages.kind,
        text: appealMessages.text,
        createdAt: appealMessages.createdAt,
        author: { steamId64: users.steamId64, nickname: users.nickname },
      })
      .from(appealMessages)
      .leftJoin(users, eq(users.id, appealMessages.authorUserId))
      .where(eq(appealMessages.appealId, id))
      .orderBy(asc(appealMessages.id)),
    findPenalty(db, appeal.penaltyId, now),
  ]);
  const isTheirs = details?.penalty.playerSteamId === appeal.playerSteamId;
  return { appeal, messages, penalty: isTheirs ? details : undefined };
}
