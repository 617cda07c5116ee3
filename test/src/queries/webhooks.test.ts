import { expect, test } from 'bun:test';
import { connect, inTransaction, openDrizzle } from '../../../src/db/client.ts';
import { webhooks } from '../../../src/db/schema/webhooks.ts';
import { MAX_WEBHOOKS } from '../../../src/domain/webhook.ts';
import { listDeliveries, saveProgress } from '../../../src/queries/webhooks/webhook-deliveries.ts';
import { createWebhook, loadWebhook, removeWebhook } from '../../../src/queries/webhooks/webhooks.ts';
import { insertPenalties } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';

const { db, url } = await createTestDatabase();
const add = (handle = db) => {
  const wanted = { url: 'https://example.org/hook', types: undefined, now: new Date() };
  return inTransaction(handle, (tx) => createWebhook(tx, { ...wanted, actor: 'operator' }));
};

test('progress only advances, unless it is ahead of all events: then it comes from another database', async () => {
  const { id, deliveredUpTo: first } = await add();
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

test('the last 50 deliveries are kept, and go with the webhook', async () => {
  const { id, deliveredUpTo } = await add();
  const progress = { deliveredUpTo, failures: 0, retryAt: null };
  const result = { type: 'penalty.created', at: new Date(), durationMs: 1, status: 204, failure: null };
  const deliveries = Array.from({ length: 120 }, (_, n) => ({ ...result, messageId: `msg_${n}` }));
  await saveProgress(db, id, { progress, deliveries: deliveries.slice(0, 60) });
  await saveProgress(db, id, { progress, deliveries: deliveries.slice(60) });
  expect(await listDeliveries(db, id)).toEqual(deliveries.slice(-50).reverse());
  await removeWebhook(db, id, { actor: 'operator' });
  expect(await listDeliveries(db, id)).toEqual([]);
});

test('there are never more webhooks than allowed, also when several are added at once', async () => {
  await db.delete(webhooks);
  for (let number = 1; number < MAX_WEBHOOKS; number++) await add();
  const connections = Array.from({ length: 4 }, () => connect(url, { max: 1 }));
  await Promise.all(connections.map((connection) => connection`select 1`));
  const added = await Promise.allSettled(connections.map((connection) => add(openDrizzle(connection))));
  await Promise.all(connections.map((connection) => connection.end()));
  expect(added.map(({ status }) => status).toSorted()).toEqual([
    'fulfilled',
    'rejected',
    'rejected',
    'rejected',
  ]);
  expect(await db.select().from(webhooks)).toHaveLength(MAX_WEBHOOKS);
});
