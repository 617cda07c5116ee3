import { expect, test } from 'bun:test';
import pino from 'pino';
import { createMirrorMetrics, createRounds } from '../../../src/import/rounds.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { waitFor } from '../../support/wait.ts';

const { db } = await createTestDatabase();

test('rounds that are skipped during a pause count as no failure', async () => {
  const stopping = new AbortController();
  let looks = 0;
  let isPaused = false;
  const rounds = createRounds(
    { db, log: pino({ level: 'silent' }), metrics: createMirrorMetrics(createMetrics()) },
    {
      system: 'discord',
      name: 'roles',
      intervalSeconds: 0.01,
      isPaused: () => {
        looks += 1;
        return isPaused;
      },
      run: async () => {
        isPaused = true;
        throw new Error('limited');
      },
    },
  );
  const leading = rounds.lead(stopping.signal);
  await waitFor(() => looks > 5);
  expect(rounds.health()).toMatchObject({ isUp: false, failures: 1 });
  stopping.abort();
  await leading;
});
