import { Conflict } from './errors.ts';
import { mayReadRecords, type Staff } from './rights/administrator.ts';
import type { SteamId64 } from './steam-id.ts';
import type { TextLimits } from './text/written-text.ts';
import { DAY_MS } from './time.ts';

/** `closed`: the player withdrew it, or its penalty was over before anybody decided. */
const APPEAL_STATES = ['undecided', 'accepted', 'denied', 'closed'] as const;
export type AppealState = (typeof APPEAL_STATES)[number];

/** Whose turn it is in an appeal; `lift`: accepted, and its penalty is still in force. */
const APPEAL_TURNS = ['staff', 'player', 'lift'] as const;
export type AppealTurn = (typeof APPEAL_TURNS)[number];

/** The tabs of the staff's list: one for each turn, and one for those that wait for nobody. */
export const APPEAL_TABS = [...APPEAL_TURNS, 'decided'] as const;
export type AppealTab = (typeof APPEAL_TABS)[number];

/**
 * Why an appeal is closed, or how the penalty of an accepted one ended. `removed`: at its source, or given to another player.
 */
const APPEAL_ENDINGS = ['withdrawn', 'expired', 'lifted', 'removed'] as const;
export type AppealEnding = (typeof APPEAL_ENDINGS)[number];

/** Whether an appeal was accepted and its penalty lifted or removed since. */
export function isCarriedOut(appeal: { state: AppealState; ending: AppealEnding | null }): boolean {
  return appeal.state === 'accepted' && (appeal.ending === 'lifted' || appeal.ending === 'removed');
}

/** Who caused an event of an appeal. */
export type AppealParty = 'player' | 'staff' | 'service';

/** What somebody wrote in an appeal: the player opens it and answers, staff ask and decide. */
const MESSAGE_KINDS = ['opened', 'answered', 'asked', 'accepted', 'denied'] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];
/** Whether the player wrote it, and not staff. */
export function isOfPlayer(kind: MessageKind): boolean {
  return kind === 'opened' || kind === 'answered';
}
/** What a message of staff does to an appeal. */
export const STAFF_ACTIONS = ['asked', 'accepted', 'denied'] as const satisfies readonly MessageKind[];
export type StaffAction = (typeof STAFF_ACTIONS)[number];

/** News of which a player gets a direct message on Discord, if they want it. */
const APPEAL_NEWS = ['asked', 'accepted', 'denied', 'closed', 'carriedOut'] as const;
export type AppealNews = (typeof APPEAL_NEWS)[number];

export const APPEAL_LENGTH = { minimum: 20, maximum: 2000 } as const satisfies TextLimits;
export const MESSAGE_LENGTH = { minimum: 1, maximum: 2000 } as const satisfies TextLimits;
/** Messages of the player in one appeal, including the first; each question allows an answer beyond these. */
const MAX_PLAYER_MESSAGES = 20;
/** Undecided appeals of one player at a time. */
const MAX_UNDECIDED_APPEALS = 3;
/** Appeals that one player opens within 24 hours, including withdrawn and deleted ones. */
const MAX_OPENED_A_DAY = 5;

/** Why a player cannot appeal against a penalty. */
type AppealRefusal = 'not-in-force' | 'undecided' | 'accepted' | 'denied' | 'too-many' | 'too-many-today';

/** The player cannot appeal against the penalty. */
export class AppealRefused extends Conflict {
  override name = 'AppealRefused';

  constructor(readonly reason: AppealRefusal) {
    super(`The appeal is refused: ${reason}`);
  }
}

/** A message was refused because it came after the decision, or after too many messages. */
export class MessageRefused extends Conflict {
  override name = 'MessageRefused';

  constructor(readonly reason: 'decided' | 'too-many-messages') {
    super(`The message is refused: ${reason}`);
  }
}

/** An earlier appeal, as limits count it. An undecided one that was deleted with its account counts as closed. */
export type EarlierAppeal = {
  /** Null: only its opening time counts. */
  penaltyId: number | null;
  state: AppealState;
  openedAt: Date;
  decidedAt: Date | null;
};

/** Why a player cannot appeal against a penalty, and from when they can; without `until`, time changes nothing. */
export type AppealObstacle = { reason: AppealRefusal; until?: Date };

/**
 * Why a player cannot appeal against a penalty in force; undefined: they can.
 * @param earlier all appeals of the player.
 * @param againDays days after a denial until another appeal against the same penalty; 0: never.
 */
export function findAppealObstacle(
  penaltyId: number,
  earlier: readonly EarlierAppeal[],
  { againDays, now }: { againDays: number; now: Date },
): AppealObstacle | undefined {
  const against = earlier.filter((appeal) => appeal.penaltyId === penaltyId);
  for (const state of ['undecided', 'accepted'] as const) {
    if (against.some((appeal) => appeal.state === state)) return { reason: state };
  }
  const denials = against.filter(({ state }) => state === 'denied');
  if (denials.length > 0 && againDays === 0) return { reason: 'denied' };
  const deniedAt = Math.max(...denials.map(({ decidedAt }) => decidedAt?.getTime() ?? 0));
  const againAt = deniedAt + againDays * DAY_MS;
  if (now.getTime() < againAt) return { reason: 'denied', until: new Date(againAt) };
  const undecided = earlier.filter(({ state }) => state === 'undecided');
  if (undecided.length >= MAX_UNDECIDED_APPEALS) return { reason: 'too-many' };
  const openedAt = earlier.map((appeal) => appeal.openedAt.getTime()).toSorted((a, b) => b - a);
  const nextAt = (openedAt[MAX_OPENED_A_DAY - 1] ?? -DAY_MS) + DAY_MS;
  return now.getTime() < nextAt ? { reason: 'too-many-today', until: new Date(nextAt) } : undefined;
}

/** Whether the player may write another message in an undecided appeal. @param kinds of its messages, oldest first. */
export function mayAnswerAppeal(kinds: readonly MessageKind[]): boolean {
  return kinds.filter(isOfPlayer).length < MAX_PLAYER_MESSAGES || kinds.at(-1) === 'asked';
}

/** Whether somebody may read and decide an appeal as staff: moderators and administrators may, but never their own. */
export function mayHandleAppeal(user: Staff, { playerSteamId }: { playerSteamId: SteamId64 }): boolean {
  return mayReadRecords(user) && user.steamId64 !== playerSteamId;
}
