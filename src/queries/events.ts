import { and, asc, gt, inArray, lte, max, not, sql } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../db/client.ts';
import { lockPenalties } from '../db/locks.ts';
import { type EventData, penalties, penaltyEventState, penaltyEvents } from '../db/schema/penalties.ts';
import { Gone } from '../domain/errors.ts';
import {
  type EventCursor,
  isPenaltyEvent,
  PENALTY_EVENT_TYPES,
  type PenaltyEventType,
  type StoredEventType,
  tryParseEventCursor,
} from '../domain/event.ts';
import type { PenaltyType } from '../domain/penalty.ts';
import { dueCondition } from './penalties/filter.ts';
import type { Penalty } from './penalties/row.ts';
import { writePenalties } from './penalties/write.ts';

type EventRow = typeof penaltyEvents.$inferSelect;

/** A change of a penalty, and the penalty as it was afterwards. */
export type PenaltyEvent = EventHead & { type: PenaltyEventType; isDeleted: boolean; penalty: Penalty };

/** A row of the outbox: a change of a penalty, or an event of another subject. */
export type StoredEvent = PenaltyEvent | (EventHead & { data: EventData });

type EventHead = Pick<EventRow, 'id' | 'type' | 'occurredAt' | 'isSilent'>;

/** The range of event ids that can be read, and the time up to which ended penalties are recorded among them. */
export type EventLog = {
  epoch: string;
  /** The newest event, even if it was pruned; 0: none yet. */
  newestId: number;
  /** The newest event that is no longer kept. */
  prunedUpTo: number;
  /** Penalties that ended until then have an event that says so. */
  expiredUpTo: Date;
};

/** Reads the state of the log. In a repeatable-read transaction it matches the penalties that the transaction reads. */
export async function readEventLog(db: Db | Tx): Promise<EventLog> {
  const [row] = await db
    .select({
      epoch: penaltyEventState.epoch,
      prunedUpTo: penaltyEventState.prunedUpTo,
      expiredUpTo: penaltyEventState.expiredUpTo,
      newestId:
        sql<number>`coalesce((select ${max(penaltyEvents.id)} from ${penaltyEvents}), ${penaltyEventState.prunedUpTo})`.mapWith(
          Number,
        ),
    })
    .from(penaltyEventState);
  if (!row) throw new Error('penalty_event_state has lost its row');
  return row;
}

/** The error for a client whose cursor is unknown or too old. */
export function cursorGone(): Gone {
  return new Gone(
    'cursor unknown or older than 30 days: read /penalties/export again and continue from its cursor',
  );
}

/**
 * Reads a client's cursor.
 * @throws {Gone} for one that is malformed, of another database, in the future, or older than the events kept.
 */
export function locateCursor(text: string, { epoch, newestId, prunedUpTo }: EventLog): EventCursor {
  const cursor = tryParseEventCursor(text);
  if (cursor && cursor.epoch === epoch && cursor.id >= prunedUpTo && cursor.id <= newestId) return cursor;
  throw cursorGone();
}

/** Some changes, with the cursor for the next ones. */
export type ChangePage = { epoch: string; changes: PenaltyEvent[]; newestId: number; hasMore: boolean };

/**
 * The changes since a cursor, silent ones included; without a cursor no changes, only the current position.
 * @throws {Gone} as {@link locateCursor}.
 */
export async function listPenaltyChanges(
  db: Db,
  cursor: string | undefined,
  limit: number,
): Promise<ChangePage> {
  return inTransaction(
    db,
    async (snapshot) => {
      const log = await readEventLog(snapshot);
      const { epoch } = log;
      if (cursor === undefined) return { epoch, changes: [], newestId: log.newestId, hasMore: false };
      const { id } = locateCursor(cursor, log);
      const rows = await selectEvents(snapshot, id, { limit, types: PENALTY_EVENT_TYPES });
      const changes = rows.map(toPenaltyEvent);
      const newestId = changes.length < limit ? log.newestId : (changes.at(-1)?.id ?? id);
      return { epoch, changes, newestId, hasMore: newestId < log.newestId };
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  );
}

type EventRange = {
  limit: number;
  upToId?: number;
  types?: readonly StoredEventType[] | undefined;
  withSilent?: boolean;
};

/** The events after an id, oldest first: by default up to the newest, of all types, silent ones included. */
export async function listStoredEvents(db: Db, afterId: number, range: EventRange): Promise<StoredEvent[]> {
  const rows = await selectEvents(db, afterId, range);
  return rows.map((row) => {
    const { id, type, occurredAt, isSilent, data } = row;
    return data ? { id, type, occurredAt, isSilent, data } : toPenaltyEvent(row);
  });
}

async function selectEvents(
  db: Db | Tx,
  afterId: number,
  { limit, upToId, types, withSilent = true }: EventRange,
): Promise<EventRow[]> {
  return db
    .select()
    .from(penaltyEvents)
    .where(
      and(
        gt(penaltyEvents.id, afterId),
        upToId === undefined ? undefined : lte(penaltyEvents.id, upToId),
        types && inArray(penaltyEvents.type, [...types]),
        withSilent ? undefined : not(penaltyEvents.isSilent),
      ),
    )
    .orderBy(asc(penaltyEvents.id))
    .limit(limit);
}

/** A row of the outbox as a change of a penalty. @throws {Error} for an event of another subject. */
export function toPenaltyEvent(row: EventRow): PenaltyEvent {
  if (!isOfPenalty(row)) throw new Error(`event ${row.id} (${row.type}) is not about a penalty`);
  const { id, type, occurredAt, isSilent, isDeleted, data: _, penaltyId, penaltyType, ...values } = row;
  const penalty = { ...values, id: penaltyId, type: penaltyType };
  return { id, type, occurredAt, isSilent, isDeleted, penalty };
}

/** Only events of other subjects lack what every penalty has. */
function isOfPenalty(
  row: EventRow,
): row is EventRow &
  Omit<Penalty, 'id' | 'type'> & { type: PenaltyEventType; penaltyId: number; penaltyType: PenaltyType } {
  return isPenaltyEvent(row.type);
}

/**
 * Records an event of another subject than penalties, as the last step of a transaction: until it ends, nobody else
 * records an event or writes a penalty, so that ids are in the order of commits.
 * @param data what is sent, besides cursor, type and time.
 */
export async function recordEvent(
  tx: Tx,
  type: Exclude<StoredEventType, PenaltyEventType>,
  data: EventData,
): Promise<void> {
  await lockPenalties(tx);
  await allowEvents(tx);
  await tx.insert(penaltyEvents).values({ type, occurredAt: sql`clock_timestamp()`, isSilent: false, data });
}

/** Lets the rest of a transaction insert events; otherwise only the triggers on penalties may (`0002_events.sql`). */
async function allowEvents(tx: Tx): Promise<void> {
  await tx.execute(sql`select set_config('community_api.records', 'on', true)`);
}

/**
 * Records `penalty.expired` for ACTIVE penalties that ended since the last call, by the earlier of `now` and the
 * database's clock. The rows themselves are marked later, which causes no further event.
 * @returns how many were recorded; 0 while others keep writing.
 */
export async function recordExpiredPenalties(db: Db, now: Date): Promise<number> {
  await resetFutureMark(db);
  const upTo = sql`least(${now.toISOString()}::timestamptz, now())`;
  const isDue = sql`${dueCondition(upTo)} and ${penalties.endsAt} > (select ${penaltyEventState.expiredUpTo} from ${penaltyEventState})`;
  // The lock waits for all writers, such as an import, so it is only taken when there is something to do.
  const [firstDue] = await db.select({ id: penalties.id }).from(penalties).where(isDue).limit(1);
  if (!firstDue) return 0;
  const record = async (tx: Tx): Promise<number> => {
    await allowEvents(tx);
    const { count } = await tx.execute(sql`
        insert into penalty_events overriding user value
        select event.* from penalties
        cross join lateral penalty_event(penalties, 'penalty.expired', 'EXPIRED', statement_timestamp(), false, false) as event
        where ${isDue} order by penalties.ends_at, penalties.id`);
    await tx.execute(
      sql`update penalty_event_state set expired_up_to = greatest(expired_up_to, date_trunc('second', ${upTo}))`,
    );
    return count;
  };
  return writePenalties(db, record, { ifBusy: 0 });
}

/**
 * Moves `expiredUpTo` back to the present if it was set while the database's clock was ahead: otherwise penalties that
 * end before it would never be recorded. Those that were recorded too early are recorded again when they end. A minute
 * or less is ignored: the clocks of two servers may differ by that after a failover.
 */
async function resetFutureMark(db: Db): Promise<void> {
  await db
    .update(penaltyEventState)
    .set({ expiredUpTo: sql`date_trunc('second', now())` })
    .where(sql`${penaltyEventState.expiredUpTo} > now() + interval '1 minute'`);
}

/** How long events are kept. */
const KEPT = sql`interval '30 days'`;

/**
 * Deletes events older than 30 days, oldest first, in steps whose locks last milliseconds.
 * @param signal stops it after the current step.
 * @returns how many were deleted.
 */
export async function prunePenaltyEvents(db: Db, signal?: AbortSignal, stepRows = 5000): Promise<number> {
  let pruned = 0;
  for (let count = stepRows; count === stepRows && !signal?.aborted; pruned += count) {
    const [step] = await db.execute<{ count: number }>(sql`
      with pruned as (
        delete from penalty_events where id <= (
          select max(id) from (select id, occurred_at from penalty_events order by id limit ${stepRows}) as oldest
          where occurred_at < now() - ${KEPT}
        ) returning id
      ), marked as (
        update penalty_event_state set pruned_up_to = (select max(id) from pruned) where exists (table pruned)
      )
      select count(*)::integer as count from pruned`);
    count = step?.count ?? 0;
  }
  return pruned;
}
