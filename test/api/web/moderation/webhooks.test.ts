import { describe, expect, test } from 'bun:test';
import { desc, eq } from 'drizzle-orm';
import { en } from '../../../../api/web/locales/en.ts';
import { auditLog } from '../../../../src/db/schema/accounts.ts';
import { webhooks } from '../../../../src/db/schema/webhooks.ts';
import { PENALTY_EVENT_TYPES } from '../../../../src/domain/event.ts';
import { listStoredEvents, readEventLog } from '../../../../src/queries/events.ts';
import { listWebhooks } from '../../../../src/queries/webhooks/webhooks.ts';
import { insertPenalties, insertUser } from '../../../support/database/builders.ts';
import { startReceiver } from '../../../support/http/webhook-receiver.ts';
import { noticesOf } from '../../../support/web/page-text.ts';
import { openUserSite } from '../../../support/web/user-site.ts';

const { db, signedIn: as } = await openUserSite({ webhookAllow: ['127.0.0.1'] });
const receiver = startReceiver();
const { id: adminId } = await insertUser(db, 2, { isAdmin: true });

const LIST = '/account/moderation/webhooks';
const ALL_TYPES = Object.fromEntries(PENALTY_EVENT_TYPES.map((type) => [type, 'on']));
const admin = await as(2);
await admin.get(LIST);

async function add(form: Record<string, string> = {}) {
  const page = await admin.post(LIST, { url: `${receiver.origin}/hook`, ...ALL_TYPES, ...form });
  const webhook = (await listWebhooks(db)).at(-1);
  if (!webhook) throw new Error(`no webhook was added: ${page.status}`);
  return { page, webhook, path: `${LIST}/${webhook.id}` };
}

async function lastEntry() {
  const [entry] = await db.select().from(auditLog).orderBy(desc(auditLog.id)).limit(1);
  return entry;
}

describe('the page of webhooks', () => {
  test('adds one, shows its secret once, and adds no second for the same form', async () => {
    const empty = await admin.get(LIST);
    expect(empty.text).toContain(en.webhooks.none);
    const form_id = empty.field('form_id') ?? '';
    const { page, webhook, path } = await add({ form_id });
    expect(webhook.types).toBeNull();
    expect(page.text).toContain(en.webhooks.shownOnce);
    expect(page.text).toMatch(/whsec_[A-Za-z0-9+/]{43}=/);
    // A link to another language could not show the secret again.
    expect(page.text).not.toMatch(/[?&]lang=/);
    expect(await lastEntry()).toMatchObject({
      action: 'webhook.added',
      actorUserId: adminId,
      subject: `${webhook.id} (${new URL(receiver.origin).host})`,
    });
    for (const address of [LIST, path]) {
      const shown = await admin.get(address);
      expect(shown.text).toContain(`${receiver.origin}/hook`);
      expect(shown.text).not.toContain('whsec_');
    }
    const again = await admin.post(LIST, { url: `${receiver.origin}/hook`, ...ALL_TYPES, form_id });
    expect(again.location).toBe(`${LIST}#webhooks`);
    const { text } = await admin.follow(again);
    expect(noticesOf(text)).toEqual([['webhooks', en.notices['webhook-already-added']]]);
    expect(await listWebhooks(db)).toHaveLength(1);
  });

  test('says what an address and a choice of events have to be, and adds nothing else', async () => {
    const before = await listWebhooks(db);
    for (const [url, problem] of [
      ['https://10.0.0.1/', 'webhook-url'],
      ['https://discord.com/api/webhooks/1/x', 'webhook-discord'],
    ] as const) {
      const page = await admin.post(LIST, { url, ...ALL_TYPES });
      expect([url, page.status]).toEqual([url, 400]);
      expect(page.text).toContain(en.errors[problem]);
      expect(page.text).toContain(`action="${LIST}#webhooks"`);
      expect(page.text).toContain(`value="${url}"`);
      expect(page.text).not.toContain('autocomplete');
    }
    const none = await admin.post(LIST, { url: 'https://example.org/' });
    expect(none.status).toBe(400);
    expect(none.text).toContain(en.errors['webhook-types']);
    expect(await listWebhooks(db)).toEqual(before);
    const some = await admin.post(LIST, { url: 'https://example.org/', 'penalty.lifted': 'on', x: 'on' });
    expect(some.status).toBe(200);
    expect((await listWebhooks(db)).at(-1)?.types).toEqual(['penalty.lifted']);
    await db.delete(webhooks);
  });

  test('sends a test and a message again, and shows what came of it', async () => {
    const { webhook, path } = await add();
    expect((await admin.get(path)).text).toContain(en.webhooks.noDeliveries);
    const tested = await admin.post(`${path}/test`);
    expect(tested.location).toBe(`${path}#deliveries`);
    expect(noticesOf((await admin.follow(tested)).text)).toEqual([
      ['deliveries', en.notices['webhook-delivered']],
    ]);
    expect(receiver.taken()).toEqual(['webhook.test']);
    expect(await lastEntry()).toMatchObject({ action: 'webhook.tested', actorUserId: adminId });

    await insertPenalties(db, [{}]);
    const [event] = await listStoredEvents(db, 0, { limit: 1 });
    const message_id = `msg_${webhook.id}_${(await readEventLog(db)).epoch}-${event?.id}`;
    receiver.respond = () => new Response(null, { status: 503 });
    const sent = await admin.follow(await admin.post(`${path}/resend`, { message_id }));
    receiver.respond = () => new Response();
    expect(noticesOf(sent.text)).toEqual([['deliveries', en.notices['webhook-not-delivered']]]);
    expect(receiver.received.at(-1)?.id).toBe(message_id);
    // The test cannot be sent again.
    expect(sent.text.match(/name="message_id"/g)).toHaveLength(1);
    expect(sent.text).toMatch(/503<\/span>[\s\S]*<time[\s\S]*\d ms/);
    expect(await lastEntry()).toMatchObject({ action: 'webhook.resent', details: { messageId: message_id } });
    expect((await admin.post(`${path}/resend`, { message_id: 'msg_1_x' })).status).toBe(404);
  });

  test('says why one is switched off or fails, and switches it on', async () => {
    const { webhook, path } = await add();
    await db
      .update(webhooks)
      .set({ switchedOffAt: new Date(), switchedOffReason: 'gone', failures: 1 })
      .where(eq(webhooks.id, webhook.id));
    const shown = await admin.get(path);
    expect(shown.text).toContain(en.webhooks.states.off);
    expect(shown.text).toContain(en.webhooks.states.reasons.gone);
    const enabled = await admin.follow(await admin.post(`${path}/enable`));
    expect(noticesOf(enabled.text)).toEqual([['webhook', en.notices['webhook-enabled']]]);
    expect(enabled.text).not.toContain(`${path}/enable`);
    expect(enabled.text).toContain(`state-live">${en.webhooks.states.on}`);
    expect(await lastEntry()).toMatchObject({ action: 'webhook.enabled', actorUserId: adminId });
    const retryAt = new Date(Date.now() + 60_000);
    await db.update(webhooks).set({ failures: 3, retryAt }).where(eq(webhooks.id, webhook.id));
    expect((await admin.get(LIST)).text).toContain(en.webhooks.states.failing(3));
    expect((await admin.get(path)).text).toContain(en.webhooks.retry);
  });

  test('removes one after a question', async () => {
    const { webhook, path } = await add();
    expect((await admin.get(path)).text).toContain(en.webhooks.removeTitle);
    const removed = await admin.post(`${path}/remove`);
    const { text } = await admin.follow(removed);
    expect(noticesOf(text)).toEqual([['webhooks', en.notices['webhook-removed']]]);
    expect((await listWebhooks(db)).some(({ id }) => id === webhook.id)).toBe(false);
    expect(await lastEntry()).toMatchObject({ action: 'webhook.removed', actorUserId: adminId });
    expect((await admin.get('/account/moderation/audit')).text).toContain(
      en.moderation.actions['webhook.removed'],
    );
    expect((await admin.get(path)).status).toBe(404);
  });

  test('leads from forms for a removed one to the list, which says so', async () => {
    const { path } = await add();
    await admin.get(path);
    const pages = await Promise.all([admin.post(`${path}/remove`), admin.post(`${path}/remove`)]);
    for (const action of ['remove', 'test', 'resend', 'enable']) {
      pages.push(await admin.post(`${path}/${action}`));
    }
    expect(pages.map(({ status, location }) => `${status} ${location}`)).toEqual(
      Array(6).fill(`303 ${LIST}#webhooks`),
    );
    const { text } = await admin.get(LIST);
    expect(noticesOf(text)).toEqual([['webhooks', en.notices['webhook-already-removed']]]);
    const removals = await db.select().from(auditLog).where(eq(auditLog.action, 'webhook.removed'));
    expect(removals.filter(({ subject }) => subject?.startsWith(`${path.split('/').at(-1)} (`))).toHaveLength(
      1,
    );
    for (const id of ['0', 'x', '99999999999']) {
      const pages = [await admin.get(`${LIST}/${id}`), await admin.post(`${LIST}/${id}/remove`)];
      expect([id, ...pages.map(({ status }) => status)]).toEqual([id, 404, 404]);
    }
  });
});
