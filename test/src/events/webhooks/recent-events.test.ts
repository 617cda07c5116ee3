import { afterAll, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import pino from 'pino';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { createEventReader } from '../../../../src/events/event-reader.ts';
import { createRecentEvents } from '../../../../src/events/webhooks/recent-events.ts';
import { listPenaltyEvents } from '../../../../src/queries/penalties/events.ts';
import { insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { waitFor } from '../../../support/wait.ts';

/** Ended long ago, so its event is silent. */
const OLD = {
  durationMinutes: 60,
  createdAt: new Date('2026-01-01T00:00:00Z'),
  endsAt: new Date('2026-01-01T01:00:00Z'),
};

const { db } = await createTestDatabase();
await insertPenalties(db, [{}, {}]);
const reader = await createEventReader(db, pino({ level: 'silent' }));
afterAll(reader.stop);

test('events that were just read are read once for all webhooks, as the database would list them', async () => {
  let reads = 0;
  const fromDatabase = (afterId: number, range: { upToId: number; limit: number; types: 'all' | 'lifted' }) =>
    listPenaltyEvents(db, afterId, {
      upToId: range.upToId,
      limit: range.limit,
      types: range.types === 'all' ? undefined : ['penalty.lifted'],
      withSilent: false,
    });
  const listEvents = createRecentEvents({
    reader,
    listEvents: async (afterId, { upToId, limit, types }) => {
      reads += 1;
      return listPenaltyEvents(db, afterId, { upToId, limit, types: types ?? undefined, withSilent: false });
    },
  });
  const before = reader.newestId();
  const rows = await insertPenalties(db, [{}, {}, OLD]);
  await db
    .update(penalties)
    .set({ status: 'UNBANNED', liftedAt: new Date() })
    .where(eq(penalties.id, rows[0]?.id ?? 0));
  reader.invalidate();
  await waitFor(() => reader.newestId() === before + 4);

  for (const types of ['all', 'lifted'] as const) {
    for (const limit of [1, 100]) {
      for (const afterId of [before, before + 1, before + 4]) {
        const range = { upToId: before + 4, limit };
        const listed = await listEvents(afterId, {
          ...range,
          types: types === 'all' ? null : ['penalty.lifted'],
        });
        expect(listed).toEqual(await fromDatabase(afterId, { ...range, types }));
      }
    }
  }
  expect(reads).toBe(0);

  const all = { upToId: before + 4, limit: 100, types: null };
  expect((await listEvents(0, all)).map(({ id }) => id)).toHaveLength(before + 3);
  expect(reads).toBe(1);
  await waitFor(async () => {
    await listEvents(before, all);
    return reads > 1;
  });
});
