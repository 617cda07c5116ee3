import { expect, test } from 'bun:test';
import pino from 'pino';
import { startWebhookDelivery } from '../../../../src/events/webhooks/delivery.ts';

test('a delivery that is stopped while it loads webhooks ends, and sends nothing', async () => {
  const loading = Promise.withResolvers<void>();
  const loaded = Promise.withResolvers<number>();
  let reads = 0;
  const delivery = startWebhookDelivery({
    log: pino({ level: 'silent' }),
    now: () => new Date(),
    newestId: () => 1,
    readNewestId: () => {
      loading.resolve();
      return loaded.promise;
    },
    listWebhooks: async () => [
      {
        id: 1,
        url: 'http://127.0.0.1:1/',
        types: null,
        secret: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0',
        createdAt: new Date(),
        startsAfter: 0,
        deliveredUpTo: 0,
        failures: 0,
        retryAt: null,
        switchedOffAt: null,
        switchedOffReason: null,
      },
    ],
    listEvents: async () => {
      reads += 1;
      return [];
    },
    send: async () => {
      throw new Error('nothing is sent');
    },
    save: async () => true,
    onSent: () => {},
  });
  await loading.promise;
  const stopped = delivery.stop();
  loaded.resolve(1);
  await stopped;
  expect(reads).toBe(0);
});
