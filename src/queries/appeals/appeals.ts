import { and, asc, eq } from 'drizzle-orm';
import type { Db, Tx } from '../../db/client.ts';
import { users } from '../../db/schema/accounts.ts';
import { appealMessages, appeals } from '../../db/schema/appeals.ts';
import { penalties } from '../../db/schema/penalties.ts';
import {
  APPEAL_LENGTH,
  type AppealNews,
  type AppealObstacle,
  type AppealParty,
  AppealRefused,
  type AppealTurn,
  findAppealObstacle,
  isCarriedOut,
  isOfPlayer,
  MESSAGE_LENGTH,
  type MessageKind,
  MessageRefused,
  mayAnswerAppeal,
  mayHandleAppeal,
  type StaffAction,
} from '../../domain/appeal.ts';
import { Forbidden, NotFound } from '../../domain/errors.ts';
import type { Language } from '../../domain/language.ts';
import { mayReadRecords } from '../../domain/rights/administrator.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { parseWrittenText } from '../../domain/text/written-text.ts';
import { recordAudit } from '../audit-log.ts';
import { recordEvent } from '../events.ts';
import { findPenalty, type PenaltyDetails } from '../penalties/row.ts';
import { holdOffErasures } from '../personal-data/tombstones.ts';
import { lockActingUser } from '../users/users.ts';
import { listEarlierAppeals } from './limits.ts';

export type Appeal = typeof appeals.$inferSelect;

/** A message of an appeal; the author is null for the player's, and for staff whose account was deleted. */
export type AppealMessage = Pick<typeof appealMessages.$inferSelect, 'id' | 'kind' | 'text' | 'createdAt'> & {
  author: { steamId64: SteamId64; nickname: string } | null;
};

/** Joins appeals with their penalties, but not one that its source has given to another player since. */
export const IS_APPEALED = and(
  eq(penalties.id, appeals.penaltyId),
  eq(penalties.playerSteamId, appeals.playerSteamId),
);

type Writing = { text: string; userId: number; now: Date };

/**
 * Opens an appeal of the acting user against one of their penalties.
 * @param tx a transaction that holds no locks on people yet; the same applies to the functions below.
 * @param options.againDays as in {@link findAppealObstacle}.
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
    language,
  }: Writing & { penaltyId: number; wantsMessages: boolean; againDays: number; language: Language },
): Promise<number> {
  const words = parseWrittenText(text, APPEAL_LENGTH);
  await holdOffErasures(tx);
  const user = await lockActingUser(tx, userId, { mayAct: () => true, isAlone: true });
  const details = await findPenalty(tx, penaltyId, now);
  if (details?.penalty.playerSteamId !== user.steamId64) throw new NotFound('no such penalty of this player');
  const obstacle = await findObstacle(tx, details, { againDays, now });
  if (obstacle) throw new AppealRefused(obstacle.reason);
  const values = { penaltyId, playerSteamId: user.steamId64, wantsMessages, language };
  const [appeal] = await tx
    .insert(appeals)
    .values({ ...values, openedAt: now, waitsFor: 'staff', waitingSince: now })
    .returning();
  if (!appeal) throw new Error('the appeal was not inserted');
  await addMessage(tx, appeal, { kind: 'opened', text: words, userId, now });
  await changeAppeal(tx, appeal, { event: 'appeal.opened', by: 'player' });
  return appeal.id;
}

/** Why the player of a penalty cannot appeal against it; undefined: they can. */
export async function findObstacle(
  db: Db | Tx,
  { penalty }: PenaltyDetails,
  options: { againDays: number; now: Date },
): Promise<AppealObstacle | undefined> {
  if (penalty.status !== 'ACTIVE') return { reason: 'not-in-force' };
  return findAppealObstacle(penalty.id, await listEarlierAppeals(db, penalty.playerSteamId), options);
}

/**
 * Adds a message of the player.
 * @throws {WrongLength} · {NotFound} when the appeal is not theirs · {MessageRefused} · {Blocked}
 */
export async function answerAppeal(tx: Tx, appealId: number, { text, userId, now }: Writing): Promise<void> {
  const words = parseWrittenText(text, MESSAGE_LENGTH);
  const appeal = await lockOwnAppeal(tx, appealId, { userId });
  const messages = await tx
    .select({ kind: appealMessages.kind })
    .from(appealMessages)
    .where(eq(appealMessages.appealId, appealId))
    .orderBy(asc(appealMessages.id));
  if (!mayAnswerAppeal(messages.map(({ kind }) => kind))) throw new MessageRefused('too-many-messages');
  await addMessage(tx, appeal, { kind: 'answered', text: words, userId, now });
  await changeAppeal(tx, appeal, {
    ...waitFor(appeal, 'staff', now),
    event: 'appeal.answered',
    by: 'player',
  });
}

/** Closes an appeal for its player. @throws {NotFound} when it is not theirs · {MessageRefused} · {Blocked} */
export async function withdrawAppeal(
  tx: Tx,
  appealId: number,
  { userId, now }: Omit<Writing, 'text'>,
): Promise<void> {
  const appeal = await lockOwnAppeal(tx, appealId, { userId });
  await recordChange(tx, appeal, { actor: { userId }, action: 'appeal.withdrawn' });
  await changeAppeal(tx, appeal, {
    state: 'closed',
    ending: 'withdrawn',
    decidedAt: now,
    waitsFor: null,
    event: 'appeal.decided',
    by: 'player',
  });
}

/** Locks an undecided appeal of the acting user. @throws {NotFound} · {MessageRefused} · {Blocked} */
async function lockOwnAppeal(tx: Tx, appealId: number, { userId }: { userId: number }): Promise<Appeal> {
  await holdOffErasures(tx);
  const user = await lockActingUser(tx, userId, { mayAct: () => true });
  const appeal = await lockAppeal(tx, appealId);
  if (appeal?.playerSteamId !== user.steamId64) throw new NotFound('no such appeal of this player');
  if (appeal.state !== 'undecided') throw new MessageRefused('decided');
  return appeal;
}

/**
 * Asks the player something, or decides. Accepting does not lift the penalty: its source has to.
 * @returns the appeal as it was.
 * @throws {WrongLength} · {NotFound} · {Forbidden} for their own appeal, and for whoever is no longer a moderator ·
 *   {MessageRefused} when somebody else decided first.
 */
export async function actOnAppeal(
  tx: Tx,
  appealId: number,
  { action, text, userId, now }: Writing & { action: StaffAction },
): Promise<Appeal> {
  const words = parseWrittenText(text, MESSAGE_LENGTH);
  await holdOffErasures(tx);
  const user = await lockActingUser(tx, userId, { mayAct: mayReadRecords });
  const appeal = await lockAppeal(tx, appealId);
  if (!appeal) throw new NotFound('no such appeal');
  if (!mayHandleAppeal(user, appeal)) throw new Forbidden('nobody handles their own appeal');
  if (appeal.state !== 'undecided') throw new MessageRefused('decided');
  await addMessage(tx, appeal, { kind: action, text: words, userId, now });
  const message = { news: action, by: 'staff' } as const;
  if (action === 'asked') {
    await changeAppeal(tx, appeal, {
      ...waitFor(appeal, 'player', now),
      ...message,
      event: 'appeal.answered',
    });
    return appeal;
  }
  await changeAppeal(tx, appeal, {
    state: action,
    decidedAt: now,
    ...(action === 'accepted' ? waitFor(appeal, 'lift', now) : { waitsFor: null }),
    ...message,
    event: 'appeal.decided',
  });
  return appeal;
}

/** Whether the player of an appeal wants direct messages on Discord about it. */
export async function setWantsMessages(db: Db, id: number, wantsMessages: boolean): Promise<void> {
  const cleared = wantsMessages ? {} : { unsentNews: null };
  await db
    .update(appeals)
    .set({ wantsMessages, ...cleared })
    .where(eq(appeals.id, id));
}

/** Makes an appeal wait for somebody; `waitingSince` stays if it already did. */
export function waitFor(
  appeal: Appeal,
  turn: AppealTurn,
  now: Date,
): Pick<Appeal, 'waitsFor' | 'waitingSince'> {
  return { waitsFor: turn, waitingSince: appeal.waitsFor === turn ? appeal.waitingSince : now };
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
  const authorUserId = isOfPlayer(kind) ? null : userId;
  await tx.insert(appealMessages).values({ appealId: appeal.id, kind, text, authorUserId, createdAt: now });
  await recordChange(tx, appeal, { actor: { userId }, action: `appeal.${kind}` });
}

/** Writes an entry of the audit log. */
export async function recordChange(
  tx: Tx,
  { id, penaltyId, playerSteamId }: Appeal,
  entry: Pick<Parameters<typeof recordAudit>[1], 'actor' | 'action'>,
): Promise<void> {
  const details = { appealId: id, penaltyId };
  await recordAudit(tx, { ...entry, subject: playerSteamId, details });
}

type AppealChange = Partial<Pick<Appeal, 'state' | 'decidedAt' | 'ending' | 'waitsFor' | 'waitingSince'>> & {
  event: 'appeal.opened' | 'appeal.answered' | 'appeal.decided';
  by: AppealParty;
  /** The news for the player, if they want messages. */
  news?: AppealNews;
};

/** Changes a locked appeal, and records the event, as the last step of a transaction. */
export async function changeAppeal(
  tx: Tx,
  appeal: Appeal,
  { event, by, news, ...changes }: AppealChange,
): Promise<void> {
  // A player who answers or withdraws has seen the question.
  const unsentNews = by === 'player' ? null : appeal.wantsMessages ? news : undefined;
  const values = { ...changes, ...(unsentNews !== undefined && { unsentNews }) };
  if (Object.keys(values).length > 0) await tx.update(appeals).set(values).where(eq(appeals.id, appeal.id));
  const changed = { ...appeal, ...values };
  await recordEvent(tx, event, {
    appeal: {
      id: changed.id,
      state: changed.state,
      is_carried_out: isCarriedOut(changed),
      waits_for: changed.waitsFor,
      by,
      penalty_id: changed.penaltyId,
      player_steamid: changed.playerSteamId,
    },
  });
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
