import { expect, test } from 'bun:test';
import { penaltyEventState } from '../../../../src/db/schema/penalties.ts';
import { listStoredEvents, recordExpiredPenalties } from '../../../../src/queries/penalties/events.ts';
import { openPenaltyExport } from '../../../../src/queries/penalties/export.ts';
import type { PenaltyFilter } from '../../../../src/queries/penalties/filter.ts';
import { insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db, url } = await createTestDatabase();
const secondsAgo = (seconds: number) => new Date(Math.floor(Date.now() / 1000 - seconds) * 1000);

/** The statuses in an export for a request that came at `now`, and the types of the changes after its cursor. */
async function follow(filter: PenaltyFilter, now: Date) {
  const { cursor, records, close } = await openPenaltyExport(url, filter, {
    ownerId: 1,
    now,
  });
  let lines = '';
  for (let batch = await records.next(); !batch.done; batch = await records.next()) {
    lines += new TextDecoder().decode(batch.value.bytes);
  }
  await close();
  const changes = await listStoredEvents(db, cursor.id, { limit: 10 });
  const statuses = [...lines.matchAll(/"status":"(\w+)"/g)].map(([, status]) => status);
  return [...statuses, ...changes.map(({ type }) => type)];
}

test('an expiry that was recorded after the request came, but before the snapshot, is in the export', async () => {
  await db.update(penaltyEventState).set({ expiredUpTo: secondsAgo(100) });
  await insertPenalties(db, [{ createdAt: secondsAgo(200), endsAt: secondsAgo(30) }]);
  const requestedAt = secondsAgo(40);
  expect(await follow({}, requestedAt)).toEqual(['ACTIVE']);

  expect(await recordExpiredPenalties(db, new Date())).toBe(1);
  expect(await follow({}, requestedAt)).toEqual(['EXPIRED']);
  expect(await follow({ status: 'ACTIVE' }, requestedAt)).toEqual([]);
  expect(await follow({ status: 'EXPIRED' }, requestedAt)).toEqual(['EXPIRED']);
});
