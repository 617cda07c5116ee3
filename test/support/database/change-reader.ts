import { inTransaction, type Tx } from '../../../src/db/client.ts';
import type { Database } from '../../../src/db/database.ts';
import { formatEventCursor } from '../../../src/domain/event.ts';
import { listPenaltyChanges, type PenaltyEvent, readEventLog } from '../../../src/queries/events.ts';

/** What a client knows about a penalty. */
type Known = { type: string; status: string; reason: string; endsAt: string | null };

/** A program that keeps a copy of the penalties, by exports and changes alone. */
export class ChangeReader {
  constructor(private readonly db: Database['db']) {}

  private copy = new Map<number, Known>();
  private cursors: string[] = [];

  async export(): Promise<void> {
    await inTransaction(
      this.db,
      async (snapshot) => {
        const { epoch, newestId } = await readEventLog(snapshot);
        this.copy = await readTable(snapshot);
        this.cursors = [formatEventCursor({ epoch, id: newestId })];
      },
      { isolationLevel: 'repeatable read', accessMode: 'read only' },
    );
  }

  async read(limit: number): Promise<boolean> {
    const cursor = this.cursors.at(-1) ?? '';
    const { epoch, changes, newestId, hasMore } = await listPenaltyChanges(this.db, cursor, limit);
    const idOfCursor = Number(cursor.split('-')[1]);
    const ids = [idOfCursor, ...changes.map(({ id }) => id)];
    if (ids.some((id, index) => index > 0 && id <= (ids[index - 1] ?? 0))) {
      throw new Error(`changes out of order: ${ids}`);
    }
    for (const change of changes) this.apply(change);
    this.cursors.push(formatEventCursor({ epoch, id: newestId }));
    return hasMore;
  }

  /** As after being killed before it saved its cursor. */
  replay(steps: number): void {
    this.cursors.length = Math.max(this.cursors.length - steps, 1);
  }

  private apply({ isDeleted, penalty }: PenaltyEvent): void {
    if (isDeleted) this.copy.delete(penalty.id);
    else this.copy.set(penalty.id, toKnown(penalty));
  }

  async expectSameAsTable(): Promise<void> {
    const table = await readTable(this.db);
    const show = (known: Map<number, Known>) =>
      JSON.stringify(
        [...known].sort(([a], [b]) => a - b),
        null,
        1,
      );
    if (show(this.copy) !== show(table)) {
      throw new Error(`the client has\n${show(this.copy)}\nand the table\n${show(table)}`);
    }
  }
}

function toKnown({ type, status, reason, endsAt }: PenaltyEvent['penalty']): Known {
  return { type, status, reason, endsAt: endsAt?.toISOString() ?? null };
}

/** The table, with each status as clients have received it. */
async function readTable(database: Pick<Database['db'] | Tx, 'execute'>): Promise<Map<number, Known>> {
  const rows = await database.execute<{ id: number; known: Known }>(`
    select id, json_build_object('type', type, 'reason', reason,
      'status', told_penalty_status(status, ends_at, (select expired_up_to from penalty_event_state)),
      'endsAt', to_char(ends_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) as known from penalties`);
  return new Map(
    rows.map(({ id, known: { type, status, reason, endsAt } }) => [
      Number(id),
      { type, status, reason, endsAt },
    ]),
  );
}
