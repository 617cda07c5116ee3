import { expect, test } from 'bun:test';
import { asc } from 'drizzle-orm';
import type { Tx } from '../../../src/db/client.ts';
import { lockPenalties } from '../../../src/db/locks.ts';
import { penalties, penaltyEvents } from '../../../src/db/schema/penalties.ts';
import { markExpiredPenalties } from '../../../src/queries/penalties/expiry.ts';
import { createExpirySweep } from '../../../src/service/sync.ts';
import { insertPenalties } from '../../support/database/builders.ts';
import { queueBehind } from '../../support/database/lock-waits.ts';
import { openTestApi } from '../../support/service/service.ts';

const database = await openTestApi();
const { db, service, get } = database;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/** Rows of one server that end this many minutes from now, by the database's clock. */
async function insertEnding(serverId: number, ...minutes: number[]): Promise<void> {
  const [clock] = await database.connection`select now() as now`;
  const nowMs = new Date(clock?.now).getTime();
  await insertPenalties(
    db,
    minutes.map((ends) => ({
      serverId,
      durationMinutes: 1,
      createdAt: new Date(nowMs - 10_000 * MINUTE_MS),
      endsAt: new Date(nowMs + ends * MINUTE_MS),
      reason: `${ends} min`,
    })),
  );
}

async function storedStatuses(): Promise<Record<string, string>> {
  const rows = await db.select().from(penalties).orderBy(asc(penalties.id));
  return Object.fromEntries(rows.map(({ reason, status }) => [reason, status]));
}

/** A service that has been running for a while, with a clock that is right at first. */
async function createSweep(): Promise<() => Promise<void>> {
  service.clock.now = new Date();
  const sweep = createExpirySweep(db, () => service.clock.now);
  await sweep();
  return sweep;
}

async function list(serverId: number, status: string): Promise<string[]> {
  const { body } = await get(`/penalties?server_id=${serverId}&status=${status}`);
  const { data, meta } = body as { data: { reason: string }[]; meta: { total: number } };
  expect(meta.total).toBe(data.length);
  return data.map(({ reason }) => reason);
}

test('what ended an hour ago is marked, and what ended since is answered as expired all the same', async () => {
  const sweep = await createSweep();
  await insertEnding(1, 30, -1, -58, -62, -600);
  await sweep();
  expect(await storedStatuses()).toEqual({
    '30 min': 'ACTIVE',
    '-1 min': 'ACTIVE',
    '-58 min': 'ACTIVE',
    '-62 min': 'EXPIRED',
    '-600 min': 'EXPIRED',
  });
  expect(await list(1, 'ACTIVE')).toEqual(['30 min']);
  expect(await list(1, 'EXPIRED')).toEqual(['-600 min', '-62 min', '-58 min', '-1 min']);
});

test("a clock that is ahead of the database's ends nothing for good", async () => {
  const sweep = await createSweep();
  await insertEnding(2, 30, 600, -62);
  service.clock.now = new Date(Date.now() + 48 * HOUR_MS);
  // However long it lasts.
  for (let count = 0; count < 3; count++) await sweep();
  service.clock.now = new Date();
  expect(await list(2, 'ACTIVE')).toEqual(['600 min', '30 min']);
  expect(await list(2, 'EXPIRED')).toEqual(['-62 min']);
});

test("a clock that is ahead together with the database's, as on one machine, ends nothing while it is short", async () => {
  const sweep = await createSweep();
  // Judged by the right time: rows that end two hours before the advanced clock, two days ahead, have not ended.
  const trueTime = new Date(Date.now() - 48 * HOUR_MS);
  service.clock.now = trueTime;
  await sweep();
  await insertEnding(3, -120);
  service.clock.now = new Date();
  await sweep();
  service.clock.now = trueTime;
  await sweep();
  expect(await storedStatuses()).toMatchObject({ '-120 min': 'ACTIVE' });
  expect(await list(3, 'ACTIVE')).toEqual(['-120 min']);
});

test('a service that starts while the clock is ahead marks nothing at first', async () => {
  await insertEnding(4, -180);
  service.clock.now = new Date();
  await createExpirySweep(db, () => service.clock.now)();
  expect(await storedStatuses()).toMatchObject({ '-180 min': 'ACTIVE' });
});

test('marks the longest expired rows first, a limited number in one statement', async () => {
  await db.delete(penalties);
  await insertEnding(5, -100, -500, -200, -400, -300, 10);
  expect(await markExpiredPenalties(db, new Date(), 2)).toBe(2);
  expect(await list(5, 'ACTIVE')).toEqual(['10 min']);
  expect(await storedStatuses()).toMatchObject({
    '-500 min': 'EXPIRED',
    '-400 min': 'EXPIRED',
    '-300 min': 'ACTIVE',
  });
  expect(await markExpiredPenalties(db, new Date(), 2)).toBe(2);
  expect(await markExpiredPenalties(db, new Date(), 2)).toBe(1);
  expect(await markExpiredPenalties(db, new Date(), 2)).toBe(0);
});

test('a ban that is extended while the sweep waits is not marked as expired', async () => {
  await db.delete(penalties);
  await insertEnding(6, -480);
  const extend = async (tx: Tx) => {
    await lockPenalties(tx);
    await tx.update(penalties).set({ endsAt: new Date(Date.now() + 100 * HOUR_MS) });
  };
  const marking = await queueBehind(db, extend, [() => markExpiredPenalties(db, new Date())]);
  expect(marking).toEqual([0]);
  expect(await storedStatuses()).toEqual({ '-480 min': 'ACTIVE' });
  const types = await db.select({ type: penaltyEvents.type }).from(penaltyEvents);
  expect(types.at(-1)).toEqual({ type: 'penalty.changed' });
});
