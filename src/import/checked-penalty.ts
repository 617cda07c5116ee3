import { InvalidInput } from '../domain/errors.ts';
import { isPenaltyTime, PENALTY_YEARS } from '../domain/penalty.ts';
import type { ImportedPenalty } from '../queries/penalties/imported.ts';

/** Who lifted a penalty, when and why. */
export type Lift = Pick<ImportedPenalty, 'liftedAt' | 'liftedByName' | 'liftedBySteamId' | 'liftReason'>;

/** Whether a penalty is in force, over, or lifted and by whom. */
export type PenaltyState = Pick<ImportedPenalty, 'status'> & Lift;

/** Nobody lifted it. */
export const NOT_LIFTED: Lift = {
  liftedAt: null,
  liftedByName: null,
  liftedBySteamId: null,
  liftReason: null,
};
export const ACTIVE: PenaltyState = { status: 'ACTIVE', ...NOT_LIFTED };
export const EXPIRED: PenaltyState = { status: 'EXPIRED', ...NOT_LIFTED };

/**
 * Checks what holds for penalties of every source: their times lie in the allowed years, and are truncated to whole
 * seconds. The table enforces the same for other writers.
 * @throws {InvalidInput} that names the time.
 */
export function checkPenalty(penalty: ImportedPenalty): ImportedPenalty {
  const { createdAt, endsAt, liftedAt } = penalty;
  return {
    ...penalty,
    createdAt: checkTime('creation', createdAt),
    endsAt: endsAt && checkTime('end', endsAt),
    liftedAt: liftedAt && checkTime('lifting', liftedAt),
  };
}

function checkTime(name: string, time: Date): Date {
  if (isPenaltyTime(time)) return new Date(Math.floor(time.getTime() / 1000) * 1000);
  const shown = Number.isNaN(time.getTime()) ? 'is not a valid time, or' : time.toISOString();
  throw new InvalidInput(
    `its ${name} ${shown} lies outside the years ${PENALTY_YEARS.first} to ${PENALTY_YEARS.last}`,
  );
}
