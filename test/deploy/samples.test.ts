import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { listSamples } from '../../api/web/guide/page.tsx';
import { generateWebhookSecret } from '../../src/domain/webhook.ts';
import { insertPenalties, insertServer } from '../support/database/builders.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { isInstalled } from '../support/docs/deployment.ts';
import { findFreePort } from '../support/machine/free-port.ts';
import { createTestFolder } from '../support/service/program.ts';
import { aToken, startTestService } from '../support/service/service.ts';
import { waitFor } from '../support/wait.ts';

const { db, url: databaseUrl } = await createTestDatabase();
await insertServer(db, { name: 'Only Mirage #1' });
await insertPenalties(db, [{ type: 'ban' }, { type: 'ban' }]);
const { token } = await aToken(db);
const { origin: url } = await startTestService({ databaseUrl });
const samples = listSamples(url);
const folder = createTestFolder();
afterAll(folder.remove);

/** Runs a command with the token in the environment. */
async function run(command: string[]): Promise<string> {
  const child = Bun.spawn(command, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, API_TOKEN: token },
    stdout: 'pipe',
  });
  return new Response(child.stdout).text();
}

const codeOf = (id: string) => samples.find((sample) => sample.id === id)?.code ?? '';

test.skipIf(!isInstalled('curl'))('the samples work when pasted: in curl', async () => {
  expect(JSON.parse(await run(['sh', '-c', codeOf('first-curl')]))).toMatchObject({ success: true });
  expect(JSON.parse(await run(['sh', '-c', codeOf('token-curl')]))).toMatchObject({ meta: { total: 2 } });
  expect(await run(['sh', '-c', codeOf('etag-curl')])).toBe('304\n');
  const stream = await run(['sh', '-c', `timeout 2 ${codeOf('events-curl')}`]);
  expect(stream).toMatch(/^id: [0-9a-f]{8}-[0-9]+$/m);
});

test.skipIf(!isInstalled('php'))('in PHP', async () => {
  const php = (id: string) => run(['php', '-r', codeOf(id).replace('<?php', '')]);
  expect(await php('first-php')).toBe('Only Mirage #1: 0\n');
  expect(await php('token-php')).toBe('2 active bans\n');
});

test.skipIf(!isInstalled('php')).each([
  ['bans-php', '?status=ACTIVE', {}, 200, '2 bans, page 1 of 1'],
  ['bans-php', '?steamid=<b>', {}, 200, 'is not a SteamID'],
  ['webhook-php', '', {}, 204, ''],
  ['webhook-php', '', { 'webhook-id': 'msg_2' }, 400, ''],
])('in PHP, behind a web server: %s%s with %j', async (id, query, headers, status, text) => {
  const file = join(folder.path, `${id}.php`);
  await Bun.write(file, codeOf(id));
  const secret = generateWebhookSecret();
  const address = `127.0.0.1:${findFreePort()}`;
  const env = { PATH: process.env.PATH, API_TOKEN: token, WEBHOOK_SECRET: secret, TMPDIR: folder.path };
  const php = Bun.spawn(['php', '-S', address, file], { env, stdout: 'ignore', stderr: 'ignore' });
  try {
    const body = '{"type":"penalty.created"}';
    const now = new Date();
    const signed = {
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('msg_1', now, body),
      ...headers,
    };
    const request = { method: 'POST', body, headers: signed };
    const response = await waitFor(() => fetch(`http://${address}/${query}`, request).catch(() => undefined));
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(text);
  } finally {
    php.kill();
    await php.exited;
  }
});
