import { InvalidInput } from '../../domain/errors.ts';
import type { PenaltyStatus } from '../../domain/penalty.ts';
import type { SourceRow } from '../source/tables.ts';
import { tryParse } from '../source/values.ts';

/** How a penalty ended, and what had to be assumed because the columns contradict each other. */
type Removal = { status: PenaltyStatus; assumption?: string };

const WITHOUT_TYPE =
  'without a RemoveType although they were removed: UNBANNED if RemovedBy names an admin, else EXPIRED; ' +
  'game servers may enforce them until the panel has run its update 810';
const LIFTED_AND_EXPIRED = 'with RemoveType E although an admin lifted them before their end: UNBANNED';

/**
 * Reads the state of a row from all of RemoveType, RemovedBy and RemovedOn. Old panels left RemoveType empty (upstream's
 * update 810 fills it by the same rule), and some forks overwrite U with E.
 * @throws {InvalidInput} for a RemoveType that is not known.
 */
export function parseRemoval(row: SourceRow): Removal {
  const isByAdmin = Number(row.lifter_id) > 0;
  switch (row.removetype ?? '') {
    case 'U':
    case 'D':
      return { status: 'UNBANNED' };
    case 'E':
      return isByAdmin && isBeforeEnd(row)
        ? { status: 'UNBANNED', assumption: LIFTED_AND_EXPIRED }
        : { status: 'EXPIRED' };
    case '':
      if (!isByAdmin && !(Number(row.lifted_at) > 0)) return { status: 'ACTIVE' };
      return { status: isByAdmin ? 'UNBANNED' : 'EXPIRED', assumption: WITHOUT_TYPE };
    default:
      throw new InvalidInput(`the RemoveType ${JSON.stringify(row.removetype)} is not known`);
  }
}

/** Whether it ended before its time; false for a row that cannot be read. */
export function isOverEarly(row: SourceRow): boolean {
  const status = tryParse(() => parseRemoval(row).status);
  return status === 'UNBANNED' || (status === 'EXPIRED' && isBeforeEnd(row));
}

/** Whether it was removed before its end, or at an unknown time. */
function isBeforeEnd({ lifted_at, length, ends, created }: SourceRow): boolean {
  if (!(Number(lifted_at) > 0)) return true;
  // 0 is permanent; −1 ends with the session, at an unknown time.
  if (!(Number(length) > 0)) return true;
  return Number(lifted_at) < (Number(ends) || Number(created) + Number(length));
}
