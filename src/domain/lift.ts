import { Conflict } from './errors.ts';
import { isAdministrator, mayReadRecords, type Staff } from './rights/administrator.ts';
import type { SteamId64 } from './steam-id.ts';

/** Who may lift penalties at their source: `LIFT_FOR`. */
export const LIFT_AUDIENCES = ['admins', 'moderators'] as const;
export type LiftAudience = (typeof LIFT_AUDIENCES)[number];

/** Whether a user may lift a penalty; nobody lifts their own. */
export function mayLift(
  audience: LiftAudience,
  user: Staff,
  { playerSteamId }: { playerSteamId: SteamId64 },
): boolean {
  const isStaff = audience === 'admins' ? isAdministrator(user) : mayReadRecords(user);
  return isStaff && user.steamId64 !== playerSteamId;
}

/** In code points, after trimming: what every system can store. */
export const LIFT_REASON_LENGTH = { minimum: 1, maximum: 128 } as const;

/** What a lift did at the source. After `unknown`, the connection broke while it was written: the mirror will tell. */
export type WrittenLift = 'written' | 'unknown';

/**
 * Why a lift wrote nothing. The row at the source is `gone`, already `lifted` or `ended`, the lifter's `own`, or `changed`: now
 * another penalty, or not readable. The source has `no-console` entry to record as the lifter, `refused` the statements or was
 * `unreachable`. On this site, the penalty is `not-in-force`, its source is `not-liftable`, or another lift is `pending`.
 */
const LIFT_REFUSALS = [
  'gone',
  'changed',
  'lifted',
  'ended',
  'own',
  'no-console',
  'refused',
  'unreachable',
  'not-in-force',
  'not-liftable',
  'pending',
] as const;
export type LiftRefusal = (typeof LIFT_REFUSALS)[number];

/** A lift that changed nothing. */
export class LiftRefused extends Conflict {
  override name = 'LiftRefused';

  constructor(readonly reason: LiftRefusal) {
    super(`The penalty was not lifted: ${reason}`);
  }
}

/**
 * The state of a lift that was written: the mirror has read that the penalty is over, has read that it is
 * `still-in-force`, or has not read it yet.
 */
export type LiftResult = 'confirmed' | 'still-in-force' | 'unconfirmed';
