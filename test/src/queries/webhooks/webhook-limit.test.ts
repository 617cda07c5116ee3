import { expect, test } from 'bun:test';
import { connect, openDrizzle } from '../../../../src/db/client.ts';
import { webhooks } from '../../../../src/db/schema/webhooks.ts';
import { MAX_WEBHOOKS } from '../../../../src/domain/webhook.ts';
import { createWebhook } from '../../../../src/queries/webhooks/webhooks.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db, url } = await createTestDatabase();

test('there are never more webhooks than allowed, also when several are added at once', async () => {
  const add = (handle = db) =>
    createWebhook(handle, {
      url: 'https://example.org/hook',
      types: undefined,
      now: new Date(),
      actor: 'operator',
    });
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
