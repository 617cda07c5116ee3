import { afterAll, describe, expect, test } from 'bun:test';
import { auditLog } from '../../../src/db/schema/accounts.ts';
import { webhooks } from '../../../src/db/schema/webhooks.ts';
import { listStoredEvents, readEventLog } from '../../../src/queries/penalties/events.ts';
import { insertPenalties } from '../../support/database/builders.ts';
import { startReceiver } from '../../support/http/webhook-receiver.ts';
import { openCli } from '../../support/service/cli.ts';

const { db, cli: runCli } = await openCli();
const receiver = startReceiver();
const url = `${receiver.origin}/hook`;
afterAll(receiver.stop);

/** No service runs: every message comes from the tool itself. */
async function cli(...args: string[]) {
  const { code, stdout, stderr } = await runCli(['webhooks', ...args], { WEBHOOK_ALLOW: '127.0.0.0/8' });
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
    const list = await cli('list');
    expect(list.stdout).toMatch(/\n1 +http:\/\/127\.0\.0\.1:[0-9]+\/hook +penalty\.\* +[0-9-]{10} +on$/);
    expect(list.stdout).not.toInclude('whsec_');
    expect(JSON.stringify(await json('list'))).not.toInclude('whsec_');

    const tested = await cli('test', '1');
    expect(tested).toMatchObject({ code: 0, stderr: '' });
    expect(tested.stdout).toMatch(/^Delivered in [0-9]+ ms: status 204 \(msg_1_test-[0-9a-f]{16}\)$/);
    expect(receiver.taken()).toEqual(['webhook.test']);

    await insertPenalties(db, [{}]);
    const [event] = await listStoredEvents(db, 0, { limit: 1 });
    const messageId = `msg_1_${(await readEventLog(db)).epoch}-${event?.id}`;
    expect(await json('resend', '1', messageId)).toMatchObject({ messageId, status: 204, failure: null });
    expect((await cli('show', '1')).stdout.split('\n')).toEqual([
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

    const at = new Date('2026-11-21T10:00:00Z');
    await db.update(webhooks).set({ failures: 1, retryAt: at });
    expect((await cli('list')).stdout).toEndWith('failing: 1 attempt, next 2026-11-21T10:00:00.000Z');
    await db.update(webhooks).set({ switchedOffAt: at, switchedOffReason: 'failing', failures: 33 });
    expect((await cli('list')).stdout).toEndWith('switched off 2026-11-21T10:00:00.000Z: failing');
    expect((await cli('enable', '1')).stdout).toBe('Webhook 1 is on and continues where it left off');
    expect(await json('list')).toMatchObject([{ id: 1, switchedOffAt: null, failures: 0 }]);
    expect(await json('remove', '1')).toEqual({ removed: 1 });
    expect(await json('list')).toEqual([]);

    const entries = await db.select().from(auditLog);
    const actions = ['added', 'tested', 'resent', 'enabled', 'removed'];
    expect(entries.map(({ action, actorUserId }) => [action, actorUserId])).toEqual(
      actions.map((action) => [`webhook.${action}`, null]),
    );
    expect(JSON.stringify(entries)).not.toMatch(/whsec_|\/hook/);
  });

  test('webhooks add takes each of the chosen types once', async () => {
    const types = 'penalty.lifted, penalty.created,penalty.lifted';
    expect(await json('add', '--url', url, '--types', types)).toEqual({
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

  const TYPES =
    'penalty.created, penalty.changed, penalty.lifted, penalty.expired, penalty.removed, appeal.opened, appeal.answered, appeal.decided';
  test.each([
    [
      'add --url https://10.0.0.1/',
      'The webhook address "https://10.0.0.1/" isn\'t valid: use one on the internet, or inside the networks of WEBHOOK_ALLOW',
    ],
    [
      'add --url http://127.0.0.1/ --types ban',
      `--types "ban" isn't valid: use any of ${TYPES}, separated by commas`,
    ],
    ['add --url http://127.0.0.1/ --types ,', `--types is empty: use any of ${TYPES}, separated by commas`],
    ['remove x', '"x" is not a webhook ID: see webhooks list'],
    ...['remove', 'enable', 'show', 'test'].map((command) => [`${command} 9`, 'There is no webhook 9']),
    [
      'resend 2 msg_2_x',
      'Webhook 2 has no message "msg_2_x": only events of the last 30 days can be sent again, and no test messages',
    ],
  ])('webhooks %s is refused in one line', async (args, stderr) => {
    expect(await cli(...args.split(' '))).toEqual({ code: 1, stdout: '', stderr });
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
