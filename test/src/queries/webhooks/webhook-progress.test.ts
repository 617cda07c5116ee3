import { expect, test } from 'bun:test';
import { saveProgress } from '../../../../src/queries/webhooks/webhook-deliveries.ts';
import { createWebhook, loadWebhook } from '../../../../src/queries/webhooks/webhooks.ts';
import { insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db } = await createTestDatabase();

test('progress only advances, unless it is ahead of all events: then it comes from another database', async () => {
  const { id, deliveredUpTo: first } = await createWebhook(db, {
    url: 'https://example.org/hook',
    types: undefined,
    now: new Date(),
    actor: 'operator',
  });
  await insertPenalties(db, [{}, {}, {}]);
  const save = async (deliveredUpTo: number) => {
    const progress = { deliveredUpTo, failures: 0, retryAt: null };
    const isSaved = await saveProgress(db, id, { progress, deliveries: [] });
    return [isSaved, (await loadWebhook(db, id)).deliveredUpTo - first];
  };
  expect(await save(first + 2)).toEqual([true, 2]);
  expect(await save(first + 2)).toEqual([true, 2]);
  expect(await save(first + 1)).toEqual([false, 2]);
  await save(first + 1000);
  expect(await save(first + 3)).toEqual([true, 3]);
});
