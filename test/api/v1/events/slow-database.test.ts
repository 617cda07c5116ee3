import { expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { createTestDatabase } from '../../../support/database/database.ts';
import { aToken, bearer, startTestService } from '../../../support/service/service.ts';

test('streams that were refused because the database was slow do not count against their owner', async () => {
  const { db, url } = await createTestDatabase();
  const service = await startTestService({ databaseUrl: url, hasRealClock: true });
  const { token } = await aToken(db, 1, { now: new Date() });
  const open = () => fetch(`${service.origin}/api/v1/events`, bearer(token));
  const refused = await db.transaction(async (tx) => {
    await tx.execute(sql`lock table penalty_events, penalty_event_state in access exclusive mode`);
    return Promise.all([open(), open(), open(), open(), open()]);
  });
  expect(refused.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
  // This one waits for the same rows, so the others have found theirs by then.
  const response = await open();
  expect(response.status).toBe(200);
  await response.body?.cancel();
});
