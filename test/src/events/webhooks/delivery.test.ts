import { expect, test } from 'bun:test';
import pino from 'pino';
import { createWebhookDelivery } from '../../../../src/events/webhooks/delivery.ts';

test('a delivery that is stopped while it loads webhooks ends, and sends nothing', async () => {
  const stopping = new AbortController();
  let reads = 0;
  const delivery = createWebhookDelivery({
    log: pino({ level: 'silent' }),
    now: () => new Date(),
    newestId: () => 1,
    readNewestId: async () => {
      stopping.abort();
      return 1;
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
    toMessage: () => {
      throw new Error('nothing is sent');
    },
    send: async () => {
      throw new Error('nothing is sent');
    },
    save: async () => true,
    onSent: () => {},
  });
  await delivery.lead(stopping.signal);
  expect(reads).toBe(0);
});
