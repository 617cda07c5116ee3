import { beforeEach, expect, test } from 'bun:test';
import { auditLog } from '../../../src/db/schema/accounts.ts';
import { webhooks } from '../../../src/db/schema/webhooks.ts';
import { listStoredEvents, readEventLog } from '../../../src/queries/events.ts';
import { insertPenalties } from '../../support/database/builders.ts';
import { startReceiver } from '../../support/http/webhook-receiver.ts';
import { openCli } from '../../support/service/cli.ts';

// No service runs: every message comes from the tool itself.
const tool = await openCli({ WEBHOOK_ALLOW: '127.0.0.0/8' });
const { database, db, cli, succeed, succeedWithJson, expectRefusals } = tool;
const receiver = startReceiver();
const url = `${receiver.origin}/hook`;
const ADD = `webhooks add --url ${url}`;
beforeEach(async () => {
  await database.connection`truncate webhooks restart identity cascade`;
});

test('webhooks add shows the secret once; list, test, resend, enable and remove work on what it added', async () => {
  expect(await succeed('webhooks list')).toBe('No webhooks yet: bun run cli webhooks add --url URL\n');
  const added = await succeed(ADD);
  expect(await succeed('webhooks show 1')).toEndWith('\n\nNo deliveries yet.\n');
  expect(added).toMatch(/^Added webhook 1\. Its secret, shown only now:\nwhsec_[A-Za-z0-9+/]{43}=\n$/);
  const list = await succeed('webhooks list');
  expect(list).toMatch(/\n1 +http:\/\/127\.0\.0\.1:[0-9]+\/hook +penalty\.\* +[0-9-]{10} +on\n$/);
  expect(list).not.toInclude('whsec_');
  expect(JSON.stringify(await succeedWithJson('webhooks list'))).not.toInclude('whsec_');

  const tested = await succeed('webhooks test 1');
  expect(tested).toMatch(/^Delivered in [0-9]+ ms: status 204 \(msg_1_test-[0-9a-f]{16}\)\n$/);
  expect(receiver.taken()).toEqual(['webhook.test']);

  await insertPenalties(db, [{}]);
  const [event] = await listStoredEvents(db, 0, { limit: 1 });
  const messageId = `msg_1_${(await readEventLog(db)).epoch}-${event?.id}`;
  const resent = await succeedWithJson(`webhooks resend 1 ${messageId}`);
  expect(resent).toMatchObject({ messageId, status: 204, failure: null });
  expect((await succeed('webhooks show 1')).trimEnd().split('\n')).toEqual([
    expect.stringMatching(/^ID /),
    expect.stringMatching(/^1 .* on$/),
    '',
    expect.stringMatching(/^AT +EVENT +RESULT +TIME +WEBHOOK-ID$/),
    expect.stringMatching(new RegExp(`^[0-9T:.-]+Z +penalty.created +status 204 +[0-9]+ ms +${messageId}$`)),
    expect.stringMatching(/^[0-9T:.-]+Z +webhook.test +status 204 +[0-9]+ ms +msg_1_test-/),
  ]);
  const whole = await succeedWithJson('webhooks show 1');
  expect(whole).toMatchObject({ id: 1, url, deliveries: [{ messageId }, { type: 'webhook.test' }] });
  expect(JSON.stringify(whole)).not.toInclude('whsec_');

  const at = new Date('2026-11-21T10:00:00Z');
  await db.update(webhooks).set({ failures: 1, retryAt: at });
  expect(await succeed('webhooks list')).toEndWith('failing: 1 attempt, next 2026-11-21T10:00:00.000Z\n');
  await db.update(webhooks).set({ switchedOffAt: at, switchedOffReason: 'failing', failures: 33 });
  expect(await succeed('webhooks list')).toEndWith('switched off 2026-11-21T10:00:00.000Z: failing\n');
  const enabled = await succeed('webhooks enable 1');
  expect(enabled).toBe('Webhook 1 is on and continues where it left off\n');
  expect(await succeedWithJson('webhooks list')).toMatchObject([{ id: 1, switchedOffAt: null, failures: 0 }]);
  expect(await succeedWithJson('webhooks remove 1')).toEqual({ removed: 1 });
  expect(await succeedWithJson('webhooks list')).toEqual([]);

  const entries = await db.select().from(auditLog);
  const actions = ['added', 'tested', 'resent', 'enabled', 'removed'];
  expect(entries.map(({ action, actorUserId }) => [action, actorUserId])).toEqual(
    actions.map((action) => [`webhook.${action}`, null]),
  );
  expect(JSON.stringify(entries)).not.toMatch(/whsec_|\/hook/);
});

test('webhooks add takes each of the chosen types once', async () => {
  const types = '"penalty.lifted, penalty.created,penalty.lifted"';
  expect(await succeedWithJson(`${ADD} --types ${types}`)).toEqual({
    id: 1,
    url,
    types: ['penalty.lifted', 'penalty.created'],
    secret: expect.stringMatching(/^whsec_/),
  });
});

test('webhooks test exits 1 with the reason when the endpoint refuses the message', async () => {
  await succeed(ADD);
  receiver.respond = () => new Response(null, { status: 500 });
  expect(await cli('webhooks test 1')).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^Not delivered in [0-9]+ ms: status 500 /),
  });
  await db.update(webhooks).set({ url: 'http://127.0.0.1:1/' });
  expect((await cli('webhooks test 1')).stdout).toMatch(/^Not delivered in [0-9]+ ms: unreachable: ./);
  expect(await succeed('webhooks show 1')).toMatch(/ webhook.test +unreachable .*\n.* status 500 /);
});

test('webhooks add rejects an invalid webhook and lists what is allowed', async () => {
  await succeed(ADD);
  const types =
    'penalty.created, penalty.changed, penalty.lifted, penalty.expired, penalty.removed, appeal.opened, appeal.answered, appeal.decided';
  const absent = 'There is no webhook 9';
  await expectRefusals({
    'webhooks add --url https://10.0.0.1/':
      'The webhook address "https://10.0.0.1/" isn\'t valid: use one on the internet, or inside the networks of WEBHOOK_ALLOW',
    [`${ADD} --types ban`]: `--types "ban" isn't valid: use any of ${types}, separated by commas`,
    [`${ADD} --types ,`]: `--types is empty: use any of ${types}, separated by commas`,
    'webhooks remove x': '"x" is not a webhook ID: see webhooks list',
    'webhooks remove 9': absent,
    'webhooks enable 9': absent,
    'webhooks show 9': absent,
    'webhooks test 9': absent,
    'webhooks resend 1 msg_2_x':
      'Webhook 1 has no message "msg_2_x": only events of the last 30 days can be sent again, and no test messages',
  });
});

test('a database error that nobody foresaw is printed without the parameters of the query', async () => {
  await db.execute(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'out of luck'; end $$`,
  );
  await db.execute('create trigger refuses before insert on webhooks for each row execute function refuse()');
  const { code, stdout, stderr } = await cli(ADD);
  await db.execute('drop trigger refuses on webhooks');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('out of luck');
  expect(stderr).toContain('insert into "webhooks"');
  expect(stderr).not.toContain('whsec_');
  expect(stderr).not.toContain(url);
});
