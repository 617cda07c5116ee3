import { InvalidInput } from '../errors.ts';
import { isPenaltyTime, PENALTY_YEARS } from '../penalty.ts';
import type { ImportedPenalty } from './penalty-writer.ts';

/**
 * What every penalty has to be, whatever source it comes from: its times lie in years that can be kept and shown.
 * The table's CHECK `penalties_times` says the same.
 * @throws {InvalidInput} that names the time.
 */
export function checkPenalty(penalty: ImportedPenalty): ImportedPenalty {
  checkTime('creation', penalty.createdAt);
  if (penalty.endsAt) checkTime('end', penalty.endsAt);
  if (penalty.liftedAt) checkTime('lifting', penalty.liftedAt);
  return penalty;
}

function checkTime(name: string, time: Date): void {
  if (isPenaltyTime(time)) return;
  const shown = Number.isNaN(time.getTime()) ? 'is no moment, or' : time.toISOString();
  throw new InvalidInput(
    `its ${name} ${shown} lies outside the years ${PENALTY_YEARS.first} to ${PENALTY_YEARS.last}`,
  );
}
