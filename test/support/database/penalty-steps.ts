import fc from 'fast-check';
import type { Database } from '../../../src/db/database.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { aPenalty, insertPenalties } from './builders.ts';

/** What happens at one step of a history. Kinds that {@link changePenalties} does not know are the test's own. */
export type Step = { kind: string; count?: number; place?: number };

/** Random changes of penalties, with their weights. */
export const PENALTY_STEPS = [
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('insert'), count: fc.integer({ min: 1, max: 40 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('change', 'lift', 'delete'), place: fc.nat(30) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rolled back') }) },
];

/** Does one of {@link PENALTY_STEPS}, to the penalty at its place if there is one. */
export async function changePenalties(
  { db, connection }: Database,
  { kind, count = 1, place = 0 }: Step,
): Promise<void> {
  const at = `id = (select id from penalties order by id offset ${place} limit 1)`;
  const one = () => ({ createdAt: new Date(), reason: 'a' });
  if (kind === 'insert') await insertPenalties(db, Array.from({ length: count }, one));
  if (kind === 'change') await connection.unsafe(`update penalties set reason = reason || 'x' where ${at}`);
  if (kind === 'lift') await connection.unsafe(`update penalties set status = 'UNBANNED' where ${at}`);
  if (kind === 'delete') await connection.unsafe(`delete from penalties where ${at}`);
  if (kind === 'rolled back') {
    const undone = db.transaction(async (transaction) => {
      await transaction.insert(penalties).values(aPenalty(one()));
      throw new Error('rolled back');
    });
    await undone.catch(() => {});
  }
}

/** A change as clients are told of it. */
export type Change = {
  cursor: string;
  penalty: { id: number; reason: string; status: string };
  is_deleted?: boolean;
};

/** A copy of the penalties that is kept by their changes alone. */
export class PenaltyCopy {
  private readonly known = new Map<number, { reason: string; status: string }>();

  apply({ penalty, is_deleted: isDeleted }: Change): void {
    if (isDeleted) this.known.delete(penalty.id);
    else this.known.set(penalty.id, { reason: penalty.reason, status: penalty.status });
  }

  /** As {@link readPenaltyCopy} of the table it is a copy of. */
  toJson(): string {
    return JSON.stringify([...this.known].sort(([a], [b]) => a - b));
  }
}

/** What the copy has to be. */
export async function readPenaltyCopy({ connection }: Database): Promise<string> {
  const rows = await connection`select id::integer, reason, status from penalties order by id`;
  return JSON.stringify(rows.map(({ id, reason, status }) => [id, { reason, status }]));
}
