import { afterEach, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { inTransaction } from '../../../src/db/client.ts';
import { auditLog } from '../../../src/db/schema/accounts.ts';
import { penalties, penaltyEventState, penaltySources } from '../../../src/db/schema/penalties.ts';
import { webhooks } from '../../../src/db/schema/webhooks.ts';
import type { StoredEventType } from '../../../src/domain/event.ts';
import { type EventLog, readEventLog, recordEvent } from '../../../src/queries/events.ts';
import { listDeliveries } from '../../../src/queries/webhooks/webhook-deliveries.ts';
import { enableWebhook, loadWebhook } from '../../../src/queries/webhooks/webhooks.ts';
import { openWebhookActions } from '../../../src/service/webhooks.ts';
import { insertPenalties, insertPenalty } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { type Receiver, startReceiver, verify } from '../../support/http/webhook-receiver.ts';
import { aToken, bearer, startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const { db, connection, url: databaseUrl } = await createTestDatabase();
const WEBHOOK_ALLOW = '127.0.0.1';
const service = await startTestService({
  databaseUrl,
  env: { ROLES: 'api,sync', WEBHOOK_ALLOW },
  hasRealClock: true,
});
const actions = openWebhookActions({ config: { webhookAllow: [WEBHOOK_ALLOW] }, db });
/** A penalty that ended long ago. */
const OLD = {
  durationMinutes: 60,
  createdAt: new Date('2026-01-01T00:00:00Z'),
  endsAt: new Date('2026-01-01T01:00:00Z'),
};
afterEach(async () => {
  await db.delete(webhooks);
});

async function addWebhook(receiver: Receiver, types?: readonly StoredEventType[]) {
  return inTransaction(db, (tx) =>
    actions.add(tx, { url: `${receiver.origin}/hook`, types, actor: 'operator' }),
  );
}

const aBan = async () => (await insertPenalty(db)).id;

test('a webhook receives events from its creation on, signed, as /penalties/changes shows it', async () => {
  await aBan();
  const receiver = startReceiver();
  const { id: webhookId, secret } = await addWebhook(receiver);
  const id = await aBan();
  await db.update(penalties).set({ status: 'UNBANNED', liftedAt: new Date() }).where(eq(penalties.id, id));
  await waitFor(() => receiver.taken().length === 2);
  expect(receiver.taken()).toEqual([`penalty.created ${id}`, `penalty.lifted ${id}`]);

  const [created] = receiver.received;
  if (!created) throw new Error('nothing was received');
  expect(verify(secret, created)).toEqual(created.body);
  expect(() => verify(secret, { ...created, text: `${created.text} ` })).toThrow();
  const { token } = await aToken(db);
  const before = String(created.body.data.cursor).replace(/[0-9]+$/, (number) => String(Number(number) - 1));
  const { body } = await service.ask(`/api/v1/penalties/changes?cursor=${before}&limit=1`, bearer(token));
  const { data } = body as { data: { occurred_at: string }[] };
  expect(created.body).toEqual({
    type: 'penalty.created',
    timestamp: data[0]?.occurred_at ?? '',
    data: data[0] as unknown as Record<string, unknown>,
  });
  expect(created.id).toBe(`msg_${webhookId}_${created.body.data.cursor}`);
  expect(created.id).not.toInclude('.');
  await waitFor(async () => (await listDeliveries(db, webhookId)).length === 2);
  expect(await listDeliveries(db, webhookId)).toMatchObject([
    { type: 'penalty.lifted', status: 204, failure: null },
    { type: 'penalty.created', status: 204, failure: null, messageId: created.id },
  ]);
});

test('a webhook gets only the types that it chose, by default those of penalties, and nobody gets silent events', async () => {
  const [penaltyEvents, lifted, opened] = [startReceiver(), startReceiver(), startReceiver()];
  await addWebhook(penaltyEvents);
  await addWebhook(lifted, ['penalty.lifted']);
  await addWebhook(opened, ['appeal.opened']);
  await db.insert(penaltySources).values({ name: 'first', kind: 'ndjson', address: '' });
  await insertPenalties(db, [{ source: 'first', sourceTable: 'bans', sourceId: '1' }, OLD]);
  await inTransaction(db, (tx) => recordEvent(tx, 'appeal.opened', { thing: { id: 1 } }));
  const id = await aBan();
  await db.update(penalties).set({ status: 'UNBANNED', liftedAt: new Date() }).where(eq(penalties.id, id));
  const last = await aBan();
  await waitFor(() => penaltyEvents.taken().includes(`penalty.created ${last}`));
  expect(penaltyEvents.taken()).toEqual([
    `penalty.created ${id}`,
    `penalty.lifted ${id}`,
    `penalty.created ${last}`,
  ]);
  await waitFor(() => lifted.received.length > 0 && opened.received.length > 0);
  expect(lifted.taken()).toEqual([`penalty.lifted ${id}`]);
  const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
  const cursor = expect.stringMatching(/^[0-9a-f]{8}-[0-9]+$/);
  const type = 'appeal.opened';
  expect(opened.received.map(({ body }) => body)).toEqual([
    { type, timestamp, data: { cursor, type, occurred_at: timestamp, thing: { id: 1 } } },
  ]);
});

test('the end of a penalty is reported once it passes, and its row stays unchanged', async () => {
  const receiver = startReceiver();
  await addWebhook(receiver, ['penalty.expired']);
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
  await db.update(penaltyEventState).set({ expiredUpTo: minutesAgo(3) });
  const { id } = await insertPenalty(db, { createdAt: minutesAgo(4), endsAt: minutesAgo(2) });
  // A process looks for passed ends when it starts, and then every few seconds.
  const another = await startTestService({ databaseUrl, env: { ROLES: 'sync' }, hasRealClock: true });
  await waitFor(() => receiver.received.length === 1);
  expect(receiver.received[0]?.body.data).toMatchObject({ penalty: { id, status: 'EXPIRED' } });
  expect(await db.select().from(penalties).where(eq(penalties.id, id))).toMatchObject([{ status: 'ACTIVE' }]);
  await another.stop();
});

test('an endpoint that hangs delays no other', async () => {
  const hanging = startReceiver();
  const released = Promise.withResolvers<void>();
  hanging.respond = async () => {
    await released.promise;
    return new Response();
  };
  const healthy = startReceiver();
  const { id } = await addWebhook(hanging);
  await addWebhook(healthy);
  await aBan();
  await waitFor(() => hanging.received.length === 1);
  const made = [await aBan(), await aBan(), await aBan()];
  await waitFor(() => healthy.taken().length === 4);
  expect(hanging.received).toHaveLength(1);
  expect((await loadWebhook(db, id)).failures).toBe(0);
  expect(healthy.taken().slice(1)).toEqual(made.map((id) => `penalty.created ${id}`));
  released.resolve();
  await waitFor(() => hanging.taken().length === 4);
});

test('a webhook that is gone is switched off, and goes on where it stopped once it is switched on', async () => {
  const receiver = startReceiver();
  receiver.respond = () => new Response(null, { status: 410 });
  const { id } = await addWebhook(receiver);
  const first = await aBan();
  await waitFor(async () => (await loadWebhook(db, id)).switchedOffAt !== null);
  expect(await loadWebhook(db, id)).toMatchObject({ switchedOffReason: 'gone', failures: 1 });
  const host = new URL(receiver.origin).host;
  const entries = await db
    .select()
    .from(auditLog)
    .where(eq(auditLog.subject, `${id} (${host})`));
  expect(entries).toMatchObject([
    { action: 'webhook.added', actor: null },
    { action: 'webhook.switched-off', actor: 'service', details: { reason: 'gone' } },
  ]);

  const second = await aBan();
  receiver.respond = () => new Response();
  expect(await actions.test(id, 'operator')).toMatchObject({ type: 'webhook.test', status: 200 });
  await enableWebhook(db, id, { actor: 'operator' });
  await waitFor(() => receiver.taken().length === 3);
  expect(receiver.taken()).toEqual(['webhook.test', `penalty.created ${first}`, `penalty.created ${second}`]);
});

test('a message is sent again with the same id and body, beside those that wait', async () => {
  const receiver = startReceiver();
  const { id, secret } = await addWebhook(receiver);
  await aBan();
  await waitFor(() => receiver.received.length === 1);
  const [first] = receiver.received;
  if (!first) throw new Error('nothing was received');
  expect(await actions.resend(id, first.id, 'operator')).toMatchObject({ status: 204, messageId: first.id });
  const [, second] = receiver.received;
  if (!second) throw new Error('nothing was sent again');
  expect({ id: second.id, text: second.text }).toEqual({ id: first.id, text: first.text });
  expect(verify(secret, second)).toEqual(first.body);

  const other = await addWebhook(startReceiver());
  const test = await actions.test(id, 'operator');
  const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
  const [, , third] = receiver.received;
  expect(third && verify(secret, third)).toEqual({ type: 'webhook.test', timestamp, data: {} });
  for (const messageId of ['', 'x', `msg_${id}_00000000-1`, first.id.replace(/-.*/, '-1'), test.messageId]) {
    await expect(actions.resend(id, messageId, 'operator')).rejects.toThrow('has no message');
  }
  await expect(actions.resend(other.id, first.id, 'operator')).rejects.toThrow('has no message');
  await expect(actions.resend(0, first.id, 'operator')).rejects.toThrow('There is no webhook 0');
});

test('the events since a webhook was added can be sent again, whatever the clock of the process that added it', async () => {
  for (const skewMs of [-3_600_000, 3_600_000]) {
    const now = () => new Date(Date.now() + skewMs);
    const skewed = openWebhookActions({ config: { webhookAllow: [WEBHOOK_ALLOW] }, db, now });
    await aBan();
    const before = await readEventLog(db);
    const url = `${startReceiver().origin}/hook`;
    const { id } = await inTransaction(db, (tx) =>
      skewed.add(tx, { url, types: undefined, actor: 'operator' }),
    );
    await aBan();
    const after = await readEventLog(db);
    const resend = ({ epoch, newestId }: EventLog) =>
      actions.resend(id, `msg_${id}_${epoch}-${newestId}`, 'operator');
    expect(await resend(after)).toMatchObject({ status: 204 });
    await expect(resend(before)).rejects.toThrow('has no message');
  }
});

test('a webhook from before a restored backup continues with new events', async () => {
  const receiver = startReceiver();
  await connection`
    insert into webhooks (url, secret, created_at, delivered_up_to)
    values (${`${receiver.origin}/`}, 'whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0', now(), 1000000)`;
  await waitFor(
    async () => {
      await aBan();
      return receiver.taken().length > 0;
    },
    { everyMs: 100 },
  );
});

test('deliveries are counted', async () => {
  const { text } = await service.ask('/metrics');
  expect(text).toMatch(/community_api_webhook_deliveries_total\{result="delivered"\} [1-9]/);
  expect(text).toMatch(/community_api_webhook_deliveries_total\{result="failed"\} 1\n/);
  expect(text).toInclude('community_api_webhooks_failing 0');
  expect(text).toInclude('community_api_webhooks_switched_off 0');
});
