import { expect, test } from 'bun:test';
import fc from 'fast-check';
import pino from 'pino';
import { inTransaction } from '../../../../src/db/client.ts';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { createEventReader, type EventReader } from '../../../../src/events/event-reader.ts';
import { startWebhookDelivery } from '../../../../src/events/webhooks/delivery.ts';
import { eventMessage, sendMessage } from '../../../../src/events/webhooks/message.ts';
import { createPost } from '../../../../src/events/webhooks/post.ts';
import { listStoredEvents, readEventLog } from '../../../../src/queries/events.ts';
import { saveProgress } from '../../../../src/queries/webhooks/webhook-deliveries.ts';
import {
  createWebhook,
  listActiveWebhooks,
  listWebhooks,
  removeWebhook,
} from '../../../../src/queries/webhooks/webhooks.ts';
import { aPenalty, insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { type Received, startReceiver } from '../../../support/http/webhook-receiver.ts';
import { tryHistories } from '../../../support/model.ts';
import { waitFor } from '../../../support/wait.ts';

const { db, connection } = await createTestDatabase();
const receiver = startReceiver();
const post = createPost({ mayConnect: () => true });
const log = pino({ level: 'silent' });

type Step = { kind: string; count?: number; place?: number };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('insert'), count: fc.integer({ min: 1, max: 40 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('change', 'lift', 'delete'), place: fc.nat(30) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constantFrom('rolled back', 'crash', 'stop', 'pause') }) },
);
/** What an endpoint does with a request: accepts it, refuses it, or accepts it but the response is lost. */
const conduct = fc.constantFrom('takes', 'takes', 'takes', 'refuses', 'redirects', 'takes and fails');

/** Changes penalties as the step says: that at its place, if there is one. */
async function change({ kind, count = 1, place = 0 }: Step): Promise<void> {
  const at = `id = (select id from penalties order by id offset ${place} limit 1)`;
  const one = () => ({ createdAt: new Date(), reason: 'a' });
  if (kind === 'insert') await insertPenalties(db, Array.from({ length: count }, one));
  if (kind === 'change') await connection.unsafe(`update penalties set reason = reason || 'x' where ${at}`);
  if (kind === 'lift') await connection.unsafe(`update penalties set status = 'UNBANNED' where ${at}`);
  if (kind === 'delete') await connection.unsafe(`delete from penalties where ${at}`);
  if (kind === 'rolled back') {
    const undone = inTransaction(db, async (transaction) => {
      await transaction.insert(penalties).values(aPenalty(one()));
      throw new Error('rolled back');
    });
    await undone.catch(() => {});
  }
}

/** A receiver that keeps a copy of the penalties only by the messages, and ignores ids that it has seen. */
function createFollower(webhookId: number) {
  const copy = new Map<number, { reason: string; status: string }>();
  const faults: string[] = [];
  const seen = new Set<string>();
  let lastNumber = 0;
  return {
    copy,
    faults,
    take: ({ id, body }: Received) => {
      // A request that was under way when the previous history ended may arrive only now.
      if (!id.startsWith(`msg_${webhookId}_`) || seen.has(id)) return;
      seen.add(id);
      const { cursor, penalty, is_deleted } = body.data as {
        cursor: string;
        penalty: { id: number; reason: string; status: string };
        is_deleted?: boolean;
      };
      const number = Number(cursor.split('-')[1]);
      if (number <= lastNumber) faults.push(`${number} came after ${lastNumber}`);
      lastNumber = number;
      if (is_deleted) copy.delete(penalty.id);
      else copy.set(penalty.id, { reason: penalty.reason, status: penalty.status });
    },
  };
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
      listStoredEvents(db, afterId, { ...range, types: types ?? undefined, withSilent: false }),
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
  const { id } = await inTransaction(db, (tx) =>
    createWebhook(tx, {
      url: `${receiver.origin}/`,
      types: undefined,
      now: new Date(0),
      actor: 'operator',
    }),
  );
  const follower = createFollower(id);
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
    await change(one);
    reader.invalidate();
    if (one.kind === 'pause') await Bun.sleep(20);
    if (one.kind === 'crash' || one.kind === 'stop') {
      await delivery.stop({ crashes: one.kind === 'crash' });
      delivery = startDelivery(reader);
    }
  }
  const rows = await connection`select id::integer, reason, status from penalties`;
  const expected = new Map(rows.map(({ id, reason, status }) => [id, { reason, status }]));
  try {
    await waitFor(() => Bun.deepEquals(follower.copy, expected), {
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
