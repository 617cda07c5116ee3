import { afterEach, expect, test } from 'bun:test';
import { createProgressWriter } from '../../../../src/events/webhooks/progress-writer.ts';
import type { Sent } from '../../../../src/events/webhooks/send.ts';
import { listDeliveries, saveProgress } from '../../../../src/queries/webhooks/webhook-deliveries.ts';
import {
  createWebhook,
  listWebhooks,
  loadWebhook,
  removeWebhook,
} from '../../../../src/queries/webhooks/webhooks.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db } = await createTestDatabase();
const AT = new Date('2026-11-21T10:00:00Z');

afterEach(async () => {
  for (const { id } of await listWebhooks(db)) await removeWebhook(db, id, { actor: 'operator' });
});

/** A writer, and the webhooks of each of its transactions. */
function aWriter() {
  const written: number[][] = [];
  const save = createProgressWriter((savings) => {
    written.push(savings.map(({ webhookId }) => webhookId));
    return saveProgress(db, savings);
  });
  return { save, written };
}

async function aWebhook(): Promise<number> {
  const url = 'https://hooks.example.test/';
  return (await createWebhook(db, { url, types: undefined, now: AT, actor: 'operator' })).id;
}

function aTry(number: number): Sent {
  const at = new Date(AT.getTime() + number);
  return {
    messageId: `msg_${number}`,
    type: 'penalty.created',
    at,
    durationMs: number,
    status: 204,
    failure: null,
  };
}

const progress = (deliveredUpTo: number) => ({ deliveredUpTo, failures: 0, retryAt: null });

test('webhooks that are due during a transaction are saved together in the next, each with its own deliveries', async () => {
  const { save, written } = aWriter();
  const ids = [await aWebhook(), await aWebhook(), await aWebhook()];
  const results = await Promise.all(
    ids.map((id, index) =>
      save(id, { deliveredUpTo: id, failures: index, retryAt: index ? AT : null }, [aTry(id)]),
    ),
  );
  expect(results).toEqual([true, true, true]);
  expect(written).toEqual([ids.slice(0, 1), ids.slice(1)]);
  for (const [index, id] of ids.entries()) {
    const retryAt = index ? AT : null;
    expect(await loadWebhook(db, id)).toMatchObject({ deliveredUpTo: id, failures: index, retryAt });
    expect(await listDeliveries(db, id)).toEqual([aTry(id)]);
  }
});

test('of each webhook the last 50 deliveries are kept', async () => {
  const { save } = aWriter();
  const [busy, quiet] = [await aWebhook(), await aWebhook()];
  const tries = Array.from({ length: 90 }, (_, number) => aTry(number));
  await Promise.all([
    save(quiet, progress(1), tries.slice(0, 3)),
    save(busy, progress(40), tries.slice(0, 40)),
    save(quiet, progress(2), []),
  ]);
  await save(busy, progress(90), tries.slice(40));
  expect(await listDeliveries(db, busy)).toEqual(tries.slice(40).reverse());
  expect(await listDeliveries(db, quiet)).toEqual(tries.slice(0, 3).reverse());
});

test('a webhook that was removed or switched off stays as it is, and the others are saved', async () => {
  const { save } = aWriter();
  const [removed, gone, kept] = [await aWebhook(), await aWebhook(), await aWebhook()];
  await removeWebhook(db, removed, { actor: 'operator' });
  const switchedOff = { at: AT, reason: 'gone' as const };
  expect(await save(gone, { ...progress(7), switchedOff }, [aTry(7)])).toBe(true);
  const results = await Promise.all([removed, gone, kept].map((id) => save(id, progress(9), [aTry(9)])));
  expect(results).toEqual([false, false, true]);
  expect(await loadWebhook(db, gone)).toMatchObject({ deliveredUpTo: 7, switchedOffReason: 'gone' });
  expect(await listDeliveries(db, gone)).toEqual([aTry(7)]);
  expect(await loadWebhook(db, kept)).toMatchObject({ deliveredUpTo: 9 });
});

test('after a failed transaction all that were in it may try again', async () => {
  let isFailing = true;
  const save = createProgressWriter(async (savings) => {
    if (isFailing) throw new Error('no database');
    return new Set(savings.map(({ webhookId }) => webhookId));
  });
  const results = await Promise.allSettled([1, 2, 3].map((id) => save(id, progress(1), [])));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  isFailing = false;
  expect(await Promise.all([1, 2, 3].map((id) => save(id, progress(1), [])))).toEqual([true, true, true]);
});
