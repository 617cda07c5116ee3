import { expect, test } from 'bun:test';
import {
  conditionalRequest,
  firstRequest,
  requestWithToken,
  streamRequest,
} from '../../api/openapi/guide/samples.ts';
import { insertPenalties, insertServer } from '../support/database/builders.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { isInstalled } from '../support/docs/deployment.ts';
import { aToken, startTestService } from '../support/service/service.ts';

const { db, url: databaseUrl } = await createTestDatabase();
await insertServer(db, { name: 'Only Mirage #1' });
await insertPenalties(db, [{ type: 'ban' }, { type: 'ban' }]);
const { token } = await aToken(db);
const { origin: url } = await startTestService({ databaseUrl });
const samples = [...firstRequest(url), ...requestWithToken(url), conditionalRequest(url), streamRequest(url)];

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
