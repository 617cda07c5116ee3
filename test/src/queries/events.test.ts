import { beforeEach, describe, expect, test } from 'bun:test';
import { asc, eq, getTableColumns } from 'drizzle-orm';
import pino from 'pino';
import { inTransaction, type Tx } from '../../../src/db/client.ts';
import {
  type EventData,
  penalties,
  penaltyEventState,
  penaltyEvents,
  penaltySources,
} from '../../../src/db/schema/penalties.ts';
import { formatEventCursor } from '../../../src/domain/event.ts';
import { createEventReader } from '../../../src/events/event-reader.ts';
import {
  listPenaltyChanges,
  listStoredEvents,
  locateCursor,
  type PenaltyEvent,
  prunePenaltyEvents,
  readEventLog,
  recordEvent,
  recordExpiredPenalties,
  toPenaltyEvent,
} from '../../../src/queries/events.ts';
import { markExpiredPenalties } from '../../../src/queries/penalties/expiry.ts';
import { openPenaltyExport } from '../../../src/queries/penalties/export.ts';
import type { PenaltyFilter } from '../../../src/queries/penalties/filter.ts';
import { aSteamId, insertPenalties, insertPenalty } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { queueBehind } from '../../support/database/lock-waits.ts';
import { waitFor } from '../../support/wait.ts';

const { db, connection, url } = await createTestDatabase();
const { source, sourceTable, sourceId, goneAt, ...OF_A_PENALTY } = getTableColumns(penalties);
const minutesAgo = (minutes: number) => new Date(Math.floor(Date.now() / 1000 - minutes * 60) * 1000);

beforeEach(async () => {
  await connection`truncate penalties, penalty_events, penalty_sources restart identity`;
  await db.update(penaltyEventState).set({ expiredUpTo: minutesAgo(5), prunedUpTo: 0 });
});

const insertOne = (values: Parameters<typeof insertPenalty>[1] = {}) =>
  insertPenalty(db, { createdAt: minutesAgo(10), ...values });

async function listEvents(): Promise<PenaltyEvent[]> {
  const rows = await db.select().from(penaltyEvents).orderBy(asc(penaltyEvents.id));
  return rows.map(toPenaltyEvent);
}

/** Types of all events after the first `skip`, with what tells them apart. */
async function told(skip = 0) {
  const events = await listEvents();
  return events.slice(skip).map(({ type, penalty }) => `${type.replace('penalty.', '')} ${penalty.status}`);
}

describe('events are recorded in the transaction of the change', () => {
  test('a new penalty, as it is after the change', async () => {
    const row = await insertOne({ reason: 'Wallhack', endsAt: minutesAgo(-60), durationMinutes: 70 });
    const [event] = await listStoredEvents(db, 0, { limit: 10 });
    const { source, sourceTable, sourceId, goneAt, ...shown } = row;
    expect(event).toEqual({
      id: 1,
      type: 'penalty.created',
      occurredAt: expect.any(Date),
      isSilent: false,
      isDeleted: false,
      penalty: shown,
    });
  });

  test('changes, each by what became of it', async () => {
    const { id } = await insertOne();
    const set = (values: Partial<typeof penalties.$inferInsert>) =>
      db.update(penalties).set(values).where(eq(penalties.id, id));
    await set({ reason: 'Aimbot' });
    await set({ reason: 'Aimbot' });
    await set({ source: 'x', sourceTable: 'y', sourceId: '1' });
    await set({ goneAt: new Date() });
    await set({ goneAt: null, status: 'ACTIVE', liftedAt: null });
    await set({ status: 'UNBANNED', liftedAt: new Date() });
    await set({ status: 'ACTIVE', liftedAt: null });
    await set({ status: 'EXPIRED' });
    await db.delete(penalties);
    expect(await told()).toEqual([
      'created ACTIVE',
      'changed ACTIVE',
      'removed UNBANNED',
      'changed ACTIVE',
      'lifted UNBANNED',
      'changed ACTIVE',
      'expired EXPIRED',
      'removed EXPIRED',
    ]);
    const events = await listEvents();
    expect(events.map(({ isDeleted }) => isDeleted).filter(Boolean)).toHaveLength(1);
  });

  test('a change of any one column that clients see, and of no other', async () => {
    const { id } = await insertOne({ status: 'UNBANNED', endsAt: minutesAgo(1), liftedAt: minutesAgo(2) });
    const values: Record<string, string> = {
      text: "'another'",
      bigint: '76561198000000042',
      integer: '42',
      'timestamp (3) with time zone': "date_trunc('second', now())",
      penalty_type: "'gag'",
    };
    const shown = Object.keys(OF_A_PENALTY).filter((name) => !['id', 'status'].includes(name));
    for (const name of shown) {
      const column = penalties[name as keyof typeof OF_A_PENALTY];
      const value = values[column.getSQLType()] ?? '';
      await connection.unsafe(`update penalties set "${column.name}" = ${value} where id = ${id}`);
      const [row] = await db.select(OF_A_PENALTY).from(penalties);
      expect({ name, event: (await listEvents()).at(-1)?.penalty }).toEqual({ name, event: row });
    }
    expect(await told()).toHaveLength(1 + shown.length);
    await connection`update penalties set source = 'x', source_table = 'y', source_id = 'z'`;
    expect(await told()).toHaveLength(1 + shown.length);
  });

  test('a transaction that is rolled back records no event', async () => {
    const undone = inTransaction(db, async (tx) => {
      await insertPenalties(tx, [{}]);
      throw new Error('no');
    });
    await expect(undone).rejects.toThrow('no');
    expect(await told()).toEqual([]);
  });

  test('a table that is emptied removes each, and tells nobody', async () => {
    await insertOne();
    await insertOne();
    await connection`truncate penalties`;
    const removal = { type: 'penalty.removed', isSilent: true, isDeleted: true };
    expect(await listStoredEvents(db, 2, { limit: 10 })).toMatchObject([removal, removal]);
  });
});

test('sixty writers at once leave no event below one that was seen', async () => {
  const seen: number[] = [];
  let isDone = false;
  const watch = (async () => {
    while (!isDone) {
      const found = await listStoredEvents(db, seen.at(-1) ?? 0, { limit: 1000 });
      seen.push(...found.map(({ id }) => id));
    }
  })();
  await Promise.all(Array.from({ length: 60 }, (_, n) => insertOne({ playerSteamId: aSteamId(n) })));
  isDone = true;
  await watch;
  seen.push(...(await listStoredEvents(db, seen.at(-1) ?? 0, { limit: 1000 })).map(({ id }) => id));
  expect(seen).toEqual((await listStoredEvents(db, 0, { limit: 1000 })).map(({ id }) => id));
  expect(seen).toHaveLength(60);
});

describe('an event of another subject', () => {
  const record = (tx: Tx, data: EventData) => recordEvent(tx, 'appeal.opened', data);
  const readChanges = async () => {
    const { changes, newestId, hasMore } = await listPenaltyChanges(db, await cursorAt(0), 2);
    return { types: changes.map(({ type }) => type), newestId, hasMore };
  };
  const cursorAt = async (id: number) => formatEventCursor({ epoch: (await readEventLog(db)).epoch, id });

  test('an event of another subject is read with its data, and is passed by changes of penalties', async () => {
    await inTransaction(db, (tx) => record(tx, { thing: { id: 1 } }));
    expect(await listStoredEvents(db, 0, { limit: 10 })).toEqual([
      {
        id: 1,
        type: 'appeal.opened',
        occurredAt: expect.any(Date),
        isSilent: false,
        data: { thing: { id: 1 } },
      },
    ]);
    expect(await readChanges()).toEqual({ types: [], newestId: 1, hasMore: false });
    await insertOne();
    await inTransaction(db, (tx) => record(tx, {}));
    expect(await readChanges()).toEqual({ types: ['penalty.created'], newestId: 3, hasMore: false });
  });

  test('waits for writers of penalties, so that ids are in the order of commits', async () => {
    await queueBehind(db, (tx) => insertPenalties(tx, [{}]), [
      () => inTransaction(db, (other) => record(other, {})),
    ]);
    const events = await listStoredEvents(db, 0, { limit: 10 });
    expect(events.map(({ type }) => String(type))).toEqual(['penalty.created', 'appeal.opened']);
  });
});

describe('an end that passes', () => {
  test('records an end that passes once, before the row is marked and not again when it is', async () => {
    await insertOne({ endsAt: minutesAgo(2), durationMinutes: 8 });
    await insertOne({ endsAt: minutesAgo(-2), durationMinutes: 12 });
    expect(await recordExpiredPenalties(db, new Date())).toBe(1);
    expect(await recordExpiredPenalties(db, new Date())).toBe(0);
    expect(await told()).toEqual(['created ACTIVE', 'created ACTIVE', 'expired EXPIRED']);
    await db.update(penalties).set({ status: 'EXPIRED' }).where(eq(penalties.id, 1));
    expect(await told(3)).toEqual([]);
  });

  test('a new end takes `penalty.expired` back, and records it again when that passes', async () => {
    await insertOne({ endsAt: minutesAgo(2), durationMinutes: 8 });
    await recordExpiredPenalties(db, new Date());
    await db.update(penalties).set({ endsAt: minutesAgo(-1) });
    await db.update(penalties).set({ endsAt: minutesAgo(1) });
    await recordExpiredPenalties(db, new Date());
    expect(await told(2)).toEqual(['changed ACTIVE', 'expired EXPIRED']);
  });

  test('records `penalty.expired` once when the sweep marks the row first', async () => {
    await db.update(penaltyEventState).set({ expiredUpTo: minutesAgo(300) });
    await insertOne({ createdAt: minutesAgo(200), endsAt: minutesAgo(100), durationMinutes: 100 });
    await markExpiredPenalties(db, new Date());
    await recordExpiredPenalties(db, new Date());
    expect(await told()).toEqual(['created ACTIVE', 'expired EXPIRED']);
  });

  test('goes by the database where our clock is ahead', async () => {
    await insertOne({ endsAt: minutesAgo(-30), durationMinutes: 40 });
    expect(await recordExpiredPenalties(db, minutesAgo(-60))).toBe(0);
    await db.update(penalties).set({ endsAt: minutesAgo(1) });
    expect(await recordExpiredPenalties(db, new Date())).toBe(1);
  });

  test('records `penalty.expired` when the end truly passes, although the database’s clock was ahead for a while', async () => {
    await db.update(penaltyEventState).set({ expiredUpTo: minutesAgo(-600) });
    await insertOne({ endsAt: minutesAgo(-30), durationMinutes: 40 });
    expect(await recordExpiredPenalties(db, new Date())).toBe(0);
    await db.update(penalties).set({ endsAt: minutesAgo(-40) });
    await db.update(penaltyEventState).set({ expiredUpTo: minutesAgo(5) });
    await db.update(penalties).set({ endsAt: minutesAgo(1) });
    expect(await recordExpiredPenalties(db, new Date())).toBe(1);
    expect(await told()).toEqual(['created EXPIRED', 'changed ACTIVE', 'changed ACTIVE', 'expired EXPIRED']);
  });
});

describe('silent events', () => {
  const listSilent = async () =>
    (await listStoredEvents(db, 0, { limit: 10 })).map(({ isSilent }) => isSilent);

  test('events of a source are silent up to the end of its first import', async () => {
    await db.insert(penaltySources).values({ name: 'forum', kind: 'ndjson', address: '' });
    await insertOne({ source: 'forum', sourceTable: 'a', sourceId: '1' });
    await insertOne();
    await db.update(penaltySources).set({ completedAt: new Date() });
    await insertOne({ source: 'forum', sourceTable: 'a', sourceId: '2' });
    expect(await listSilent()).toEqual([true, false, false]);
  });

  test('events of penalties made and over more than a day ago are silent, never of one without an end', async () => {
    const day = 24 * 60;
    const old = { createdAt: minutesAgo(3 * day), durationMinutes: day };
    await insertOne({ ...old, endsAt: minutesAgo(2 * day), status: 'EXPIRED' });
    await insertOne({ ...old, endsAt: minutesAgo(60), status: 'EXPIRED' });
    await insertOne({ ...old, endsAt: minutesAgo(-day), status: 'UNBANNED', liftedAt: minutesAgo(2 * day) });
    await insertOne({ createdAt: minutesAgo(3 * day) });
    expect(await listSilent()).toEqual([true, false, true, false]);
  });
});

describe('cursors', () => {
  test('cursors are read back, and refused when unknown, malformed or pruned', async () => {
    await insertOne();
    await insertOne();
    const log = await readEventLog(db);
    expect(log).toEqual({
      epoch: expect.stringMatching(/^[0-9a-f]{8}$/),
      newestId: 2,
      prunedUpTo: 0,
      expiredUpTo: expect.any(Date),
    });
    const text = formatEventCursor({ epoch: log.epoch, id: 1 });
    expect(locateCursor(text, log)).toEqual({ epoch: log.epoch, id: 1 });
    const { epoch } = log;
    for (const wrong of ['', '1', '00000000-1', ...['-3', '--1', '-01', '-1 '].map((end) => epoch + end)]) {
      expect(() => locateCursor(wrong, log)).toThrow('/penalties/export');
    }
    expect(() => locateCursor(text, { ...log, prunedUpTo: 2 })).toThrow('30 days');
  });

  test('events are pruned after 30 days, in steps', async () => {
    for (let n = 0; n < 7; n++) await insertOne();
    await connection`update penalty_events set occurred_at = now() - interval '31 days' where id <= 5`;
    expect(await prunePenaltyEvents(db, undefined, 2)).toBe(5);
    expect(await readEventLog(db)).toMatchObject({ prunedUpTo: 5, newestId: 7 });
    await connection`update penalty_events set occurred_at = now() - interval '31 days'`;
    expect(await prunePenaltyEvents(db)).toBe(2);
    expect(await readEventLog(db)).toMatchObject({ prunedUpTo: 7, newestId: 7 });
  });
});

test('an expiry that was recorded after an export was requested, but before its snapshot, is in the export', async () => {
  await insertOne({ endsAt: minutesAgo(2) });
  /** The statuses in an export for a request that came three minutes ago, and the types of the changes after its cursor. */
  async function follow(filter: PenaltyFilter) {
    const options = { ownerId: 1, now: minutesAgo(3) };
    const { cursor, records, close } = await openPenaltyExport(url, filter, options);
    let lines = '';
    for (let batch = await records.next(); !batch.done; batch = await records.next()) {
      lines += new TextDecoder().decode(batch.value.bytes);
    }
    await close();
    const changes = await listStoredEvents(db, cursor.id, { limit: 10 });
    const statuses = [...lines.matchAll(/"status":"(\w+)"/g)].map(([, status]) => status);
    return [...statuses, ...changes.map(({ type }) => type)];
  }
  expect(await follow({})).toEqual(['ACTIVE']);
  expect(await recordExpiredPenalties(db, new Date())).toBe(1);
  expect(await follow({})).toEqual(['EXPIRED']);
  expect(await follow({ status: 'ACTIVE' })).toEqual([]);
  expect(await follow({ status: 'EXPIRED' })).toEqual(['EXPIRED']);
});

test('a listener of the event reader that fails does not keep events from the others', async () => {
  const reader = await createEventReader(db, pino({ level: 'silent' }));
  const received: number[] = [];
  reader.subscribe(() => {
    throw new Error('broken');
  });
  reader.subscribe((events) => received.push(...events.map(({ id }) => id)));
  for (const count of [1, 2]) {
    await insertOne();
    reader.invalidate();
    await waitFor(() => received.length === count);
  }
  expect(received.at(-1)).toBe(reader.newestId());
  reader.stop();
});
