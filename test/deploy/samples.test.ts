import { expect, test } from 'bun:test';
import { listSamples } from '../../api/web/guide/text.tsx';
import { insertPenalties, insertServer } from '../support/database/builders.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { isInstalled } from '../support/docs/deployment.ts';
import { codeOf } from '../support/docs/samples.ts';
import { aToken, startTestService } from '../support/service/service.ts';

const { db, url: databaseUrl } = await createTestDatabase();
await insertServer(db, { name: 'Only Mirage #1' });
await insertPenalties(db, [{ type: 'ban' }, { type: 'ban' }]);
const { token } = await aToken(db);
const { origin: url } = await startTestService({ databaseUrl });
const samples = listSamples(url);

/** Runs a command with the token in the environment. */
async function run(command: string[]): Promise<string> {
  const child = Bun.spawn(command, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, API_TOKEN: token },
    stdout: 'pipe',
  });
  return new Response(child.stdout).text();
}

test.skipIf(!isInstalled('curl'))('the samples work when pasted: in curl', async () => {
  expect(JSON.parse(await run(['sh', '-c', codeOf(samples, 'first-curl')]))).toMatchObject({ success: true });
  expect(JSON.parse(await run(['sh', '-c', codeOf(samples, 'token-curl')]))).toMatchObject({
    meta: { total: 2 },
  });
  expect(await run(['sh', '-c', codeOf(samples, 'etag-curl')])).toBe('304\n');
  const stream = await run(['sh', '-c', `timeout 2 ${codeOf(samples, 'events-curl')}`]);
  expect(stream).toMatch(/^id: [0-9a-f]{8}-[0-9]+$/m);
});
