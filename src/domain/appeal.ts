import { Conflict, InvalidInput } from './errors.ts';
import { mayReadRecords } from './rights/administrator.ts';
import type { SteamId64 } from './steam-id.ts';
import { hasVisibleCharacter } from './text/visible-text.ts';

/** `closed`: its penalty ended, was lifted or was removed before anybody decided. */
export const APPEAL_STATES = ['undecided', 'accepted', 'denied', 'closed'] as const;
export type AppealState = (typeof APPEAL_STATES)[number];

/** What somebody wrote in an appeal: the player opens it and answers, staff ask and decide. */
export const MESSAGE_KINDS = ['opened', 'answered', 'asked', 'accepted', 'denied'] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];
export const PLAYER_MESSAGE_KINDS = ['opened', 'answered'] as const satisfies readonly MessageKind[];
/** Whether the player wrote it, and not staff. */
export function isOfPlayer(kind: MessageKind): boolean {
  return PLAYER_MESSAGE_KINDS.some((each) => each === kind);
}
/** What a message of staff does to an appeal. */
export const STAFF_ACTIONS = ['asked', 'accepted', 'denied'] as const satisfies readonly MessageKind[];
export type StaffAction = (typeof STAFF_ACTIONS)[number];

/** News of which a player gets a direct message on Discord, if they want it. */
export const APPEAL_NEWS = ['asked', 'accepted', 'denied', 'closed'] as const;
export type AppealNews = (typeof APPEAL_NEWS)[number];

/** In code points, after trimming. */
export const APPEAL_LENGTH = { minimum: 20, maximum: 2000 } as const;
export const MESSAGE_LENGTH = { minimum: 1, maximum: 2000 } as const;
/** Messages of the player in one appeal, including the first. */
export const MAX_PLAYER_MESSAGES = 20;
/** Undecided appeals of one player at a time. */
export const MAX_UNDECIDED_APPEALS = 3;

/** A text that is too short, too long, or has no visible characters. */
export class WrongLength extends InvalidInput {
  override name = 'WrongLength';

  constructor(readonly limits: { minimum: number; maximum: number }) {
    super(`The text has ${limits.minimum} to ${limits.maximum} characters`);
  }
}

/**
 * A text as it is stored: with `\n` as line break, trimmed, without NUL, which PostgreSQL refuses.
 * @throws {WrongLength}
 */
export function parseAppealText(text: string, limits: { minimum: number; maximum: number }): string {
  const trimmed = text.replaceAll('\r\n', '\n').replaceAll('\0', '').trim();
  const { length } = [...trimmed];
  const fits = length >= limits.minimum && length <= limits.maximum;
  if (!fits || !hasVisibleCharacter(trimmed)) throw new WrongLength(limits);
  return trimmed;
}

/** Why an appeal cannot be opened, answered or decided. */
export const APPEAL_REFUSALS = [
  'not-in-force',
  'undecided',
  'accepted',
  'denied',
  'too-many',
  'decided',
  'too-many-messages',
] as const;
export type AppealRefusal = (typeof APPEAL_REFUSALS)[number];

/** What was asked of an appeal is not possible in the state it is in. */
export class AppealRefused extends Conflict {
  override name = 'AppealRefused';

  constructor(readonly reason: AppealRefusal) {
    super(`The appeal is refused: ${reason}`);
  }
}

type EarlierAppeal = { penaltyId: number; state: AppealState; decidedAt: Date | null };

/**
 * Why a player cannot appeal against a penalty in force; undefined: they can.
 * @param earlier all appeals of the player.
 * @param againDays days after a denial until another appeal against the same penalty; 0: never.
 */
export function whyNoAppeal(
  penaltyId: number,
  earlier: readonly EarlierAppeal[],
  { againDays, now }: { againDays: number; now: Date },
): AppealRefusal | undefined {
  const against = earlier.filter((appeal) => appeal.penaltyId === penaltyId);
  if (against.some(({ state }) => state === 'undecided')) return 'undecided';
  if (against.some(({ state }) => state === 'accepted')) return 'accepted';
  const isTooSoon = (decidedAt: Date | null) =>
    againDays === 0 || now.getTime() < (decidedAt?.getTime() ?? 0) + againDays * DAY_MS;
  if (against.some(({ state, decidedAt }) => state === 'denied' && isTooSoon(decidedAt))) return 'denied';
  const undecided = earlier.filter(({ state }) => state === 'undecided').length;
  return undecided >= MAX_UNDECIDED_APPEALS ? 'too-many' : undefined;
}

const DAY_MS = 86_400_000;

type Staff = { steamId64: SteamId64; isAdmin: boolean; isOwner: boolean; isModerator: boolean };

/** Whether somebody may read and decide an appeal as staff: moderators and administrators may, but never their own. */
export function mayHandleAppeal(user: Staff, { playerSteamId }: { playerSteamId: SteamId64 }): boolean {
  return mayReadRecords(user) && user.steamId64 !== playerSteamId;
}
