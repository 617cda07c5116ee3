import { beforeEach, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import {
  penalties,
  penaltyEventState,
  penaltyEvents,
  penaltySources,
} from '../../../../src/db/schema/penalties.ts';
import { formatEventCursor } from '../../../../src/domain/event.ts';
import {
  listStoredEvents,
  locateCursor,
  prunePenaltyEvents,
  readEventLog,
  recordExpiredPenalties,
} from '../../../../src/queries/penalties/events.ts';
import { markExpiredPenalties } from '../../../../src/queries/penalties/expiry.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db, connection } = await createTestDatabase();
const minutesAgo = (minutes: number) => new Date(Math.floor(Date.now() / 1000 - minutes * 60) * 1000);

beforeEach(async () => {
  await connection`truncate penalties, penalty_events, penalty_sources restart identity`;
  await db.update(penaltyEventState).set({ expiredUpTo: minutesAgo(5), prunedUpTo: 0 });
});

async function insertOne(values: Parameters<typeof insertPenalties>[1][number] = {}) {
  const [row] = await insertPenalties(db, [{ createdAt: minutesAgo(10), ...values }]);
  if (!row) throw new Error('nothing was inserted');
  return row;
}

/** Types of all events after the first `skip`, with what tells them apart. */
async function told(skip = 0) {
  const events = await listStoredEvents(db, 0, { limit: 1000 });
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
    await set({ goneAt: null });
    await set({ status: 'UNBANNED', liftedAt: new Date() });
    await set({ status: 'ACTIVE', liftedAt: null });
    await set({ status: 'EXPIRED' });
    await db.delete(penalties);
    expect(await told()).toEqual([
      'created ACTIVE',
      'changed ACTIVE',
      'removed ACTIVE',
      'changed ACTIVE',
      'lifted UNBANNED',
      'changed ACTIVE',
      'expired EXPIRED',
      'removed EXPIRED',
    ]);
    const events = await listStoredEvents(db, 0, { limit: 1000 });
    expect(events.map(({ isDeleted }) => isDeleted).filter(Boolean)).toHaveLength(1);
  });

  test('nothing of a transaction that is rolled back', async () => {
    await expect(
      connection.begin(async (transaction) => {
        await transaction`insert into penalties (type, status, player_steamid, admin_steamid, duration_minutes, created_at)
          values ('ban', 'ACTIVE', 1, 0, 0, now())`;
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    expect(await told()).toEqual([]);
  });

  test('a table that is emptied removes each, and tells nobody', async () => {
    await insertOne();
    await insertOne();
    await connection`truncate penalties`;
    const events = await listStoredEvents(db, 2, { limit: 10 });
    expect(events).toMatchObject([
      { type: 'penalty.removed', isSilent: true, isDeleted: true },
      { type: 'penalty.removed', isSilent: true, isDeleted: true },
    ]);
  });
});

describe('the order of events is the order of commits', () => {
  test('a writer that began earlier and commits later comes later, and nothing is seen before that', async () => {
    let goOn = () => {};
    const wait = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    let hasInserted = () => {};
    const inserted = new Promise<void>((resolve) => {
      hasInserted = resolve;
    });
    const slow = connection.begin(async (transaction) => {
      await transaction`insert into penalties (type, status, player_steamid, admin_steamid, duration_minutes, created_at)
        values ('ban', 'ACTIVE', 1, 0, 0, now())`;
      hasInserted();
      await wait;
    });
    await inserted;
    const quick = insertOne({ playerSteamId: aSteamId(2) }).then(() => undefined);
    expect((await readEventLog(db)).newestId).toBe(0);
    goOn();
    await Promise.all([slow, quick]);
    const events = await listStoredEvents(db, 0, { limit: 10 });
    expect(events.map(({ penalty }) => String(penalty.playerSteamId))).toEqual(['1', aSteamId(2)]);
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
});

describe('an end that passes', () => {
  test('is recorded once, before the row is marked and not again when it is', async () => {
    await insertOne({ endsAt: minutesAgo(2), durationMinutes: 8 });
    await insertOne({ endsAt: minutesAgo(-2), durationMinutes: 12 });
    expect(await recordExpiredPenalties(db, new Date())).toBe(1);
    expect(await recordExpiredPenalties(db, new Date())).toBe(0);
    expect(await told()).toEqual(['created ACTIVE', 'created ACTIVE', 'expired EXPIRED']);
    await db.update(penalties).set({ status: 'EXPIRED' }).where(eq(penalties.id, 1));
    expect(await told(3)).toEqual([]);
  });

  test('is taken back by a new end, and recorded again when that passes', async () => {
    await insertOne({ endsAt: minutesAgo(2), durationMinutes: 8 });
    await recordExpiredPenalties(db, new Date());
    await db.update(penalties).set({ endsAt: minutesAgo(-1) });
    await db.update(penalties).set({ endsAt: minutesAgo(1) });
    await recordExpiredPenalties(db, new Date());
    expect(await told(2)).toEqual(['changed ACTIVE', 'expired EXPIRED']);
  });

  test('of an hour ago and marked by the sweep first is recorded by the mark', async () => {
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

  test('is recorded after the database was ahead for a while, when it truly passes', async () => {
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
  test('are those of a source up to the end of its first import', async () => {
    await db.insert(penaltySources).values({ name: 'forum', kind: 'ndjson', address: '' });
    await insertOne({ source: 'forum', sourceTable: 'a', sourceId: '1' });
    await insertOne();
    await db.update(penaltySources).set({ completedAt: new Date() });
    await insertOne({ source: 'forum', sourceTable: 'a', sourceId: '2' });
    const events = await listStoredEvents(db, 0, { limit: 10 });
    expect(events.map(({ isSilent }) => isSilent)).toEqual([true, false, false]);
  });

  test('are those of penalties made and over more than a day ago, never of one without an end', async () => {
    const day = 24 * 60;
    const old = { createdAt: minutesAgo(3 * day), durationMinutes: day };
    await insertOne({ ...old, endsAt: minutesAgo(2 * day), status: 'EXPIRED' });
    await insertOne({ ...old, endsAt: minutesAgo(60), status: 'EXPIRED' });
    await insertOne({ ...old, endsAt: minutesAgo(-day), status: 'UNBANNED', liftedAt: minutesAgo(2 * day) });
    await insertOne({ createdAt: minutesAgo(3 * day) });
    const events = await listStoredEvents(db, 0, { limit: 10 });
    expect(events.map(({ isSilent }) => isSilent)).toEqual([true, false, true, false]);
  });
});

describe('cursors', () => {
  test('are read back, and refused when unknown, malformed or pruned', async () => {
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
    for (const wrong of [
      '',
      '1',
      `${log.epoch}-3`,
      `${log.epoch}--1`,
      `${log.epoch}-01`,
      '00000000-1',
      `${text} `,
    ]) {
      expect(() => locateCursor(wrong, log)).toThrow('/penalties/export');
    }
    expect(() => locateCursor(text, { ...log, prunedUpTo: 2 })).toThrow('30 days');
  });

  test('events are pruned after 30 days, in steps', async () => {
    for (let n = 0; n < 7; n++) await insertOne();
    await db
      .update(penaltyEvents)
      .set({ occurredAt: minutesAgo(31 * 24 * 60) })
      .where(eq(penaltyEvents.id, 1));
    await connection`update penalty_events set occurred_at = now() - interval '31 days' where id <= 5`;
    expect(await prunePenaltyEvents(db, undefined, 2)).toBe(5);
    expect(await readEventLog(db)).toMatchObject({ prunedUpTo: 5, newestId: 7 });
    await connection`update penalty_events set occurred_at = now() - interval '31 days'`;
    expect(await prunePenaltyEvents(db)).toBe(2);
    expect(await readEventLog(db)).toMatchObject({ prunedUpTo: 7, newestId: 7 });
  });
});
