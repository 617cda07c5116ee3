import { expect, setDefaultTimeout, test } from 'bun:test';
import { listWebhooks } from '../../../../src/queries/webhooks/webhooks.ts';
import { openWebhookActions } from '../../../../src/service/webhooks.ts';
import { insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startReceiver } from '../../../support/http/webhook-receiver.ts';
import { createServices } from '../../../support/service/program.ts';
import { waitFor } from '../../../support/wait.ts';

setDefaultTimeout(600_000);

const WEBHOOK_ALLOW = '127.0.0.1';
const { db, url } = await createTestDatabase();
const services = createServices(url, { HEALTH_PORT: '0', ROLES: 'sync', WEBHOOK_ALLOW });

test('delivers everything in order, with ids that tell repeats, whichever process is killed', async () => {
  const receiver = startReceiver();
  const actions = openWebhookActions({ config: { webhookAllow: [WEBHOOK_ALLOW] }, db });
  await actions.add(db, { url: `${receiver.origin}/`, actor: 'operator' });
  const expected: string[] = [];
  let isDone = false;
  const written = (async () => {
    while (!isDone) {
      // A busy machine may write faster than it delivers, and leave the last process too much to do.
      await waitFor(() => isDone || expected.length < receiver.received.length + 300);
      const rows = await insertPenalties(db, [{}, {}, {}]);
      expected.push(...rows.map(({ id }) => `penalty.created ${id}`));
      await Bun.sleep(10);
    }
  })();

  let leader = services.start();
  await waitFor(() => receiver.received.length > 0);
  for (let kill = 0; kill < 3; kill += 1) {
    // A process that starts just then may take the lock before one that has waited for it.
    await leader.waitFor('"part":"webhooks","msg":"leading"');
    const standby = services.start();
    await standby.waitFor('waiting: another process runs this part');
    const before = receiver.received.length;
    await waitFor(() => receiver.received.length >= before + 50);
    leader.kill('SIGKILL');
    await leader.exited;
    leader = standby;
  }
  leader.kill('SIGKILL');
  await leader.exited;
  isDone = true;
  await written;

  const last = services.start();
  const unique = () => [...new Map(receiver.received.map((received) => [received.id, received])).values()];
  await waitFor(() => unique().length === expected.length);
  expect([...new Set(receiver.taken())]).toEqual(expected);
  await waitFor(async () => (await listWebhooks(db))[0]?.failures === 0);
  last.kill('SIGTERM');
  expect(await last.exited).toBe(0);
  await receiver.stop();
});
