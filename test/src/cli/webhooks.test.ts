import { afterAll, describe, expect, test } from 'bun:test';
import { desc } from 'drizzle-orm';
import { auditLog } from '../../../src/db/schema/accounts.ts';
import { webhooks } from '../../../src/db/schema/webhooks.ts';
import { listStoredEvents, readEventLog } from '../../../src/queries/penalties/events.ts';
import { listDeliveries } from '../../../src/queries/webhooks/webhook-deliveries.ts';
import { insertPenalties } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startReceiver, verify } from '../../support/http/webhook-receiver.ts';
import { runCli } from '../../support/service/cli.ts';
import { createTestFolder } from '../../support/service/program.ts';

const { db, url: databaseUrl } = await createTestDatabase();
const folder = createTestFolder();
const receiver = startReceiver();
const url = `${receiver.origin}/hook`;
afterAll(async () => {
  await receiver.stop();
  await folder.remove();
});

/** No service runs: every message comes from the tool itself. */
async function cli(...args: string[]) {
  const env = { DATABASE_URL: databaseUrl, DATA_DIR: folder.path, WEBHOOK_ALLOW: '127.0.0.0/8' };
  const { code, stdout, stderr } = await runCli(['webhooks', ...args], env);
  return { code, stdout: stdout.trim(), stderr: stderr.trim() };
}

async function json(...args: string[]) {
  const { code, stdout, stderr } = await cli(...args, '--json');
  expect([args, code, stderr]).toEqual([args, 0, '']);
  return JSON.parse(stdout);
}

describe('webhooks', () => {
  test('webhooks add shows the secret once; list, test, resend, enable and remove work on what it added', async () => {
    expect((await cli('list')).stdout).toBe('No webhooks yet: bun run cli webhooks add --url URL');
    const added = await cli('add', '--url', url);
    expect((await cli('show', '1')).stdout).toEndWith('\n\nNo deliveries yet.');
    expect(added.stdout).toMatch(/^Added webhook 1\. Its secret, shown only now:\nwhsec_[A-Za-z0-9+/]{43}=$/);
    const [, secret = ''] = added.stdout.split('\n');
    const list = await cli('list');
    expect(list.stdout).toMatch(/\n1 +http:\/\/127\.0\.0\.1:[0-9]+\/hook +penalty\.\* +[0-9-]{10} +on$/);
    expect(list.stdout).not.toInclude('whsec_');
    expect(JSON.stringify(await json('list'))).not.toInclude('whsec_');

    const tested = await cli('test', '1');
    expect(tested).toMatchObject({ code: 0, stderr: '' });
    expect(tested.stdout).toMatch(/^Delivered in [0-9]+ ms: status 204 \(msg_1_test-[0-9a-f]{16}\)$/);
    const [received] = receiver.received;
    if (!received) throw new Error('nothing was received');
    const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/);
    expect(verify(secret, received)).toStrictEqual({ type: 'webhook.test', timestamp, data: {} });

    await insertPenalties(db, [{}]);
    const [event] = await listStoredEvents(db, 0, { limit: 1 });
    const messageId = `msg_1_${(await readEventLog(db)).epoch}-${event?.id}`;
    expect(await json('resend', '1', messageId)).toMatchObject({ messageId, status: 204, failure: null });
    expect(receiver.received[1]?.id).toBe(messageId);
    expect(await listDeliveries(db, 1)).toMatchObject([{ messageId }, { type: 'webhook.test' }]);
    const shown = (await cli('show', '1')).stdout.split('\n');
    expect(shown).toEqual([
      expect.stringMatching(/^ID /),
      expect.stringMatching(/^1 .* on$/),
      '',
      expect.stringMatching(/^AT +EVENT +RESULT +TIME +WEBHOOK-ID$/),
      expect.stringMatching(
        new RegExp(`^[0-9T:.-]+Z +penalty.created +status 204 +[0-9]+ ms +${messageId}$`),
      ),
      expect.stringMatching(/^[0-9T:.-]+Z +webhook.test +status 204 +[0-9]+ ms +msg_1_test-/),
    ]);
    const whole = await json('show', '1');
    expect(whole).toMatchObject({ id: 1, url, deliveries: [{ messageId }, { type: 'webhook.test' }] });
    expect(JSON.stringify(whole)).not.toInclude('whsec_');

    await db.update(webhooks).set({ failures: 1, retryAt: new Date('2026-11-21T10:00:00Z') });
    expect((await cli('list')).stdout).toEndWith('failing: 1 attempt, next 2026-11-21T10:00:00.000Z');
    await db
      .update(webhooks)
      .set({ switchedOffAt: new Date('2026-11-21T10:00:00Z'), switchedOffReason: 'failing', failures: 33 });
    expect((await cli('list')).stdout).toEndWith('switched off 2026-11-21T10:00:00.000Z: failing');
    expect((await cli('enable', '1')).stdout).toBe('Webhook 1 is on and continues where it left off');
    expect(await json('list')).toMatchObject([{ id: 1, switchedOffAt: null, failures: 0 }]);
    expect(await json('remove', '1')).toEqual({ removed: 1 });
    expect(await json('list')).toEqual([]);

    const entries = await db.select().from(auditLog).orderBy(desc(auditLog.id));
    expect(entries.map(({ action }) => action)).toEqual([
      'webhook.removed',
      'webhook.enabled',
      'webhook.resent',
      'webhook.tested',
      'webhook.added',
    ]);
    expect(entries[2]).toMatchObject({
      subject: `1 (${new URL(url).host})`,
      details: { messageId },
      actorUserId: null,
    });
    expect(JSON.stringify(entries)).not.toMatch(/whsec_|\/hook/);
  });

  test('webhooks add takes each of the chosen types once', async () => {
    const added = await json(
      'add',
      '--url',
      url,
      '--types',
      'penalty.lifted, penalty.created,penalty.lifted',
    );
    expect(added).toEqual({
      id: 2,
      url,
      types: ['penalty.lifted', 'penalty.created'],
      secret: expect.stringMatching(/^whsec_/),
    });
  });

  test('webhooks test exits 1 with the reason when the endpoint refuses the message', async () => {
    receiver.respond = () => new Response(null, { status: 500 });
    expect(await cli('test', '2')).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^Not delivered in [0-9]+ ms: status 500 /),
    });
    await db.update(webhooks).set({ url: 'http://127.0.0.1:1/' });
    expect((await cli('test', '2')).stdout).toMatch(/^Not delivered in [0-9]+ ms: unreachable: ./);
    expect((await cli('show', '2')).stdout).toMatch(/ webhook.test +unreachable .*\n.* status 500 /);
  });

  test('webhooks add rejects an invalid webhook and lists what is allowed', async () => {
    const types =
      'penalty.created, penalty.changed, penalty.lifted, penalty.expired, penalty.removed, appeal.opened, appeal.answered, appeal.decided';
    const cases: [string[], string][] = [
      [
        ['add', '--url', 'https://10.0.0.1/'],
        'The webhook address "https://10.0.0.1/" isn\'t valid: use one on the internet, or inside the networks of WEBHOOK_ALLOW',
      ],
      [
        ['add', '--url', 'ftp://x'],
        'The webhook address "ftp://x" isn\'t valid: use one that begins with https://, or with http:// inside the networks of WEBHOOK_ALLOW',
      ],
      [
        ['add', '--url', url, '--types', 'ban'],
        `--types "ban" isn't valid: use any of ${types}, separated by commas`,
      ],
      [['add', '--url', url, '--types', ','], `--types is empty: use any of ${types}, separated by commas`],
      [['remove', 'x'], '"x" is not a webhook ID: see webhooks list'],
      [['remove', '9'], 'There is no webhook 9'],
      [['enable', '9'], 'There is no webhook 9'],
      [['show', '9'], 'There is no webhook 9'],
      [['test', '9'], 'There is no webhook 9'],
      [
        ['resend', '2', 'msg_2_x'],
        'Webhook 2 has no message "msg_2_x": only events of the last 30 days can be sent again, and no test messages',
      ],
    ];
    for (const [args, stderr] of cases) expect(await cli(...args)).toEqual({ code: 1, stdout: '', stderr });
  });
});

test('a database error that nobody foresaw is printed without the parameters of the query', async () => {
  await db.execute(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'out of luck'; end $$`,
  );
  await db.execute('create trigger refuses before insert on webhooks for each row execute function refuse()');
  const { code, stdout, stderr } = await cli('add', '--url', url);
  await db.execute('drop trigger refuses on webhooks');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('out of luck');
  expect(stderr).toContain('insert into "webhooks"');
  expect(stderr).not.toContain('whsec_');
  expect(stderr).not.toContain(url);
});
