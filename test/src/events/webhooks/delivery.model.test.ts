import { afterAll, expect, test } from 'bun:test';
import fc from 'fast-check';
import pino from 'pino';
import { createEventReader, type EventReader } from '../../../../src/events/event-reader.ts';
import { startWebhookDelivery } from '../../../../src/events/webhooks/delivery.ts';
import { eventMessage, sendMessage } from '../../../../src/events/webhooks/message.ts';
import { createPost } from '../../../../src/events/webhooks/post.ts';
import { listPenaltyEvents, readEventLog } from '../../../../src/queries/penalties/events.ts';
import { saveProgress } from '../../../../src/queries/webhooks/webhook-deliveries.ts';
import {
  createWebhook,
  listActiveWebhooks,
  listWebhooks,
  removeWebhook,
} from '../../../../src/queries/webhooks/webhooks.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import {
  type Change,
  changePenalties,
  PENALTY_STEPS,
  PenaltyCopy,
  readPenaltyCopy,
  type Step,
} from '../../../support/database/penalty-steps.ts';
import { type Received, startReceiver } from '../../../support/http/webhook-receiver.ts';
import { tryHistories } from '../../../support/model.ts';
import { waitFor } from '../../../support/wait.ts';

const database = await createTestDatabase();
const { db, connection } = database;
const receiver = startReceiver();
afterAll(receiver.stop);
const post = createPost({ mayConnect: () => true });
const log = pino({ level: 'silent' });

const step: fc.Arbitrary<Step> = fc.oneof(...PENALTY_STEPS, {
  weight: 2,
  arbitrary: fc.record({ kind: fc.constantFrom('crash', 'stop', 'pause') }),
});
/** What an endpoint does with a request: accepts it, refuses it, or accepts it but the response is lost. */
const conduct = fc.constantFrom('takes', 'takes', 'takes', 'refuses', 'redirects', 'takes and fails');

/** A receiver that keeps a copy of the penalties from the messages alone, and ignores ids that it has seen. */
class Follower {
  readonly copy = new PenaltyCopy();
  readonly faults: string[] = [];
  private readonly seen = new Set<string>();
  private lastNumber = 0;

  constructor(private readonly webhookId: number) {}

  take({ id, body }: Received): void {
    // A request that was under way when the previous history ended may arrive only now.
    if (!id.startsWith(`msg_${this.webhookId}_`) || this.seen.has(id)) return;
    this.seen.add(id);
    const change = body.data as Change;
    const number = Number(change.cursor.split('-')[1]);
    if (number <= this.lastNumber) this.faults.push(`${number} came after ${this.lastNumber}`);
    this.lastNumber = number;
    this.copy.apply(change);
  }
}

/** Delivers as a process does until it is stopped or crashes; after a crash it saves nothing more. */
function startDelivery(reader: EventReader) {
  let isCrashed = false;
  // Every pause is over at once: the 24 hours are counted in pauses, not by the clock.
  let hours = 0;
  const now = () => new Date(Date.now() + ++hours * 3_600_000);
  const delivery = startWebhookDelivery({
    log,
    now,
    checkMs: 1,
    newestId: reader.newestId,
    readNewestId: async () => (await readEventLog(db)).newestId,
    listWebhooks: () => listActiveWebhooks(db),
    listEvents: (afterId, { types, ...range }) =>
      listPenaltyEvents(db, afterId, { ...range, types: types ?? undefined, withSilent: false }),
    send: (webhook, event, options) =>
      sendMessage(post, webhook, eventMessage(event, { webhookId: webhook.id, epoch: reader.epoch }), {
        now,
        ...options,
      }),
    save: async (id, progress, deliveries) => {
      if (isCrashed) throw new Error('crashed');
      return saveProgress(db, id, { progress, deliveries });
    },
    onSent: () => {},
  });
  const unsubscribe = reader.subscribe(delivery.wake);
  return {
    stop: async ({ crashes }: { crashes: boolean }) => {
      isCrashed = crashes;
      unsubscribe();
      await delivery.stop();
    },
  };
}

async function play({ steps, conducts }: { steps: Step[]; conducts: string[] }): Promise<void> {
  for (const { id } of await listWebhooks(db)) await removeWebhook(db, id, { actor: 'operator' });
  await connection`truncate penalties, penalty_events restart identity`;
  const { id } = await createWebhook(db, {
    url: `${receiver.origin}/`,
    types: undefined,
    now: new Date(0),
    actor: 'operator',
  });
  const follower = new Follower(id);
  let requests = 0;
  receiver.received.length = 0;
  receiver.respond = (received) => {
    const how = conducts[requests++ % conducts.length] ?? 'takes';
    if (how.startsWith('takes')) follower.take(received);
    if (how === 'redirects') return Response.redirect(`${receiver.origin}/elsewhere`, 307);
    return new Response(null, { status: how === 'takes' ? 200 : 500 });
  };
  const reader = await createEventReader(db, log);
  let delivery = startDelivery(reader);
  for (const one of steps) {
    await changePenalties(database, one);
    reader.invalidate();
    if (one.kind === 'pause') await Bun.sleep(20);
    if (one.kind === 'crash' || one.kind === 'stop') {
      await delivery.stop({ crashes: one.kind === 'crash' });
      delivery = startDelivery(reader);
    }
  }
  const expected = await readPenaltyCopy(database);
  try {
    await waitFor(() => follower.copy.toJson() === expected, {
      what: 'the receiver has what the table has',
    });
    expect(follower.faults).toEqual([]);
  } finally {
    await delivery.stop({ crashes: false });
    reader.stop();
  }
}

test('a receiver that ignores ids it knows ends with what the table has, whatever fails on the way', () =>
  tryHistories(
    'webhooks',
    fc.record({
      steps: fc.array(step, { minLength: 3, maxLength: 20 }),
      // An endpoint that accepts nothing for ever is switched off, as it should be.
      conducts: fc.array(conduct, { maxLength: 12 }).map((list) => [...list, 'takes']),
    }),
    play,
    { runs: Number(process.env.MODEL_RUNS ?? 0) >= 1000 ? 300 : 20 },
  ));
