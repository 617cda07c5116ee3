import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import pino from 'pino';
import {
  type QueueDeps,
  startWebhookDelivery,
  startWebhookQueue,
  type WebhookQueue,
} from '../../../../src/events/webhooks/delivery.ts';
import { sendMessage } from '../../../../src/events/webhooks/message.ts';
import { createPost } from '../../../../src/events/webhooks/post.ts';
import type { StoredEvent } from '../../../../src/queries/events.ts';
import type { Progress } from '../../../../src/queries/webhooks/webhook-deliveries.ts';
import type { SigningWebhook } from '../../../../src/queries/webhooks/webhooks.ts';
import { type Receiver, startReceiver } from '../../../support/http/webhook-receiver.ts';
import { waitFor } from '../../../support/wait.ts';

const START = new Date('2026-11-21T10:00:00Z');

let receiver: Receiver;
let queue: WebhookQueue | undefined;
let now: Date;
let newestId: number;
let saved: Progress[];

beforeEach(() => {
  receiver = startReceiver();
  now = START;
  newestId = 0;
  saved = [];
});
afterEach(() => queue?.stop());

function aWebhook(values: Partial<SigningWebhook> = {}): SigningWebhook {
  return {
    id: 1,
    url: `${receiver.origin}/hook`,
    types: null,
    secret: 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0',
    createdAt: START,
    startsAfter: 0,
    deliveredUpTo: 0,
    failures: 0,
    retryAt: null,
    switchedOffAt: null,
    switchedOffReason: null,
    ...values,
  };
}

const anEvent = (id: number) => ({ id, type: 'penalty.created' }) as StoredEvent;
const post = createPost({ mayConnect: () => true });
/** Numbered events, and a clock that only the test moves. */
const DEPS: QueueDeps = {
  newestId: () => newestId,
  listEvents: async (afterId, { upToId, limit }) => {
    const count = Math.min(upToId - afterId, limit);
    return Array.from({ length: count }, (_, index) => anEvent(afterId + index + 1));
  },
  send: (to, { id, type }, options) =>
    sendMessage(post, to, { id: `msg_${id}`, type, text: '{}' }, { now: () => now, ...options }),
  save: async (_, progress) => saved.push(progress) > 0,
  onSent: () => {},
  now: () => now,
  log: pino({ level: 'silent' }),
  checkMs: 1,
};

function startQueue(values: Partial<SigningWebhook> = {}, deps: Partial<QueueDeps> = {}) {
  queue = startWebhookQueue({ ...DEPS, ...deps }, aWebhook(values));
  return queue;
}

const ids = () => receiver.received.map(({ id }) => Number(id.slice('msg_'.length)));
const after = (seconds: number) => new Date(now.getTime() + seconds * 1000);
const last = () => saved.at(-1);

describe('one endpoint', () => {
  test('skips millions of events of other types in reads of bounded size', async () => {
    const sizes: number[] = [];
    const listEvents: QueueDeps['listEvents'] = async (afterId, { upToId }) => {
      sizes.push(upToId - afterId);
      return upToId === newestId ? [anEvent(newestId)] : [];
    };
    newestId = 20_000_000;
    startQueue({}, { listEvents });
    await waitFor(() => receiver.received.length > 0);
    expect(ids()).toEqual([newestId]);
    expect(Math.max(...sizes)).toBe(50_000);
  });

  test('receives events in order, one at a time', async () => {
    let open = 0;
    let most = 0;
    receiver.respond = async () => {
      open += 1;
      most = Math.max(most, open);
      await Bun.sleep(1);
      open -= 1;
      return new Response(null, { status: 200 });
    };
    startQueue();
    newestId = 250;
    await waitFor(() => last()?.deliveredUpTo === 250);
    expect(ids()).toEqual(Array.from({ length: 250 }, (_, index) => index + 1));
    expect(most).toBe(1);
  });

  test('receives the next event only after it has accepted the one before, which keeps its id', async () => {
    receiver.respond = ({ id }) => new Response(null, { status: id === 'msg_2' ? 500 : 200 });
    startQueue();
    newestId = 3;
    await waitFor(() => last()?.failures === 1);
    expect(last()).toEqual(expect.objectContaining({ deliveredUpTo: 1, retryAt: after(5) }));
    now = after(4);
    await Bun.sleep(30);
    expect(ids()).toEqual([1, 2]);
    now = after(1);
    await waitFor(() => last()?.failures === 2);
    expect(last()).toEqual(expect.objectContaining({ deliveredUpTo: 1, retryAt: after(10) }));
    receiver.respond = () => new Response(null, { status: 202 });
    now = after(10);
    await waitFor(() => last()?.deliveredUpTo === 3);
    expect(last()).toMatchObject({ failures: 0, retryAt: null });
    expect(ids()).toEqual([1, 2, 2, 2, 3]);
  });

  test('switches an endpoint off after 24 hours of failed attempts, not before', async () => {
    receiver.respond = () =>
      new Response(null, { status: 302, headers: { location: `${receiver.origin}/x` } });
    const started = startQueue();
    newestId = 1;
    for (let tries = 1; last()?.switchedOff === undefined; tries += 1) {
      now = last()?.retryAt ?? now;
      await waitFor(() => saved.length === tries);
    }
    await started.ended;
    expect(last()).toEqual(
      expect.objectContaining({ deliveredUpTo: 0, switchedOff: { at: after(0), reason: 'failing' } }),
    );
    expect(now.getTime() - START.getTime()).toBe(24 * 3_600_000);
    expect(receiver.received.every(({ path, id }) => path === '/hook' && id === 'msg_1')).toBe(true);
  });

  test('continues after a restart where it was, once its pause has ended', async () => {
    startQueue({ deliveredUpTo: 6, failures: 3, retryAt: after(20) });
    newestId = 8;
    await Bun.sleep(30);
    expect(ids()).toEqual([]);
    now = after(20);
    await waitFor(() => last()?.deliveredUpTo === 8);
    expect(ids()).toEqual([7, 8]);
  });

  test('delivers at once although the next attempt was stored while the clock was ahead', async () => {
    startQueue({ failures: 3, retryAt: after(30 * 86_400) });
    newestId = 1;
    await waitFor(() => last()?.deliveredUpTo === 1);
  });

  test('tries an endpoint at once on request, for another 24 hours', async () => {
    receiver.respond = () => new Response(null, { status: 500 });
    const started = startQueue({ failures: 30, retryAt: after(3000) });
    newestId = 1;
    started.retryNow();
    await waitFor(() => saved.length === 1);
    expect(last()).toEqual(expect.objectContaining({ failures: 1, retryAt: after(5) }));
  });

  test('receives an event again, and not the next one, when it is retried while its failure is saved', async () => {
    receiver.respond = () => new Response(null, { status: receiver.received.length === 1 ? 500 : 200 });
    const started = startQueue(
      {},
      {
        save: async (_, progress) => {
          if (progress.failures === 1) started.retryNow();
          return saved.push(progress) > 0;
        },
      },
    );
    newestId = 3;
    await waitFor(() => last()?.deliveredUpTo === 3);
    expect(ids()).toEqual([1, 1, 2, 3]);
  });

  test('receives every event once although the database is unreachable', async () => {
    let isUnreachable = true;
    const save: QueueDeps['save'] = async (...progress) => {
      if (isUnreachable) throw new Error('unreachable');
      return DEPS.save(...progress);
    };
    startQueue({}, { save });
    newestId = 2;
    await waitFor(() => ids().length === 2);
    isUnreachable = false;
    newestId = 3;
    await waitFor(() => last()?.deliveredUpTo === 3);
    expect(ids()).toEqual([1, 2, 3]);
  });

  test('shows the last 50 of 60 deliveries that are saved together', async () => {
    let shown: string[] = [];
    const outcome = { type: 'penalty.created', at: START, durationMs: 1, status: 200, failure: null };
    startQueue(
      {},
      {
        send: async (_, { id }) => ({ messageId: `msg_${id}`, ...outcome }),
        save: async (_id, progress, results) => {
          shown = results.map(({ messageId }) => messageId);
          return saved.push(progress) > 0;
        },
      },
    );
    newestId = 60;
    await waitFor(() => last()?.deliveredUpTo === 60);
    expect(shown).toEqual(Array.from({ length: 50 }, (_, index) => `msg_${index + 11}`));
  });

  test('receives nothing after it was removed', async () => {
    const started = startQueue({}, { save: async () => false });
    newestId = 1;
    await started.ended;
    newestId = 2;
    expect(ids()).toEqual([1]);
  });
});

test('a delivery that is stopped while it loads webhooks sends nothing', async () => {
  const loading = Promise.withResolvers<void>();
  const loaded = Promise.withResolvers<number>();
  let reads = 0;
  newestId = 1;
  const delivery = startWebhookDelivery({
    ...DEPS,
    listEvents: async () => {
      reads += 1;
      return [];
    },
    readNewestId: () => {
      loading.resolve();
      return loaded.promise;
    },
    listWebhooks: async () => [aWebhook()],
  });
  await loading.promise;
  const stopped = delivery.stop();
  loaded.resolve(1);
  await stopped;
  expect(reads).toBe(0);
});
