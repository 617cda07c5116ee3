import { afterAll, expect, test } from 'bun:test';
import pino from 'pino';
import { createEventReader } from '../../../src/events/event-reader.ts';
import { insertPenalties } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { waitFor } from '../../support/wait.ts';

const { db } = await createTestDatabase();
const reader = await createEventReader(db, pino({ level: 'silent' }));
afterAll(reader.stop);

test('a listener that fails does not keep events from the others', async () => {
  const received: number[] = [];
  reader.subscribe(() => {
    throw new Error('broken');
  });
  reader.subscribe((events) => received.push(...events.map(({ id }) => id)));
  await insertPenalties(db, [{ createdAt: new Date() }]);
  reader.invalidate();
  await waitFor(() => received.length === 1);
  await insertPenalties(db, [{ createdAt: new Date() }]);
  reader.invalidate();
  await waitFor(() => received.length === 2);
  expect(received.at(-1)).toBe(reader.newestId());
});
