import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import {
  conditionalRequest,
  firstRequest,
  requestWithToken,
  streamRequest,
} from '../../../api/openapi/guide/samples.ts';
import { insertPenalties, insertServer } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { findFreePort } from '../../support/machine/free-port.ts';
import { createTestFolder } from '../../support/service/program.ts';
import { aToken, startTestService } from '../../support/service/service.ts';

const database = await createTestDatabase();
const port = await findFreePort();
const url = `http://127.0.0.1:${port}`;
await insertServer(database.db, { name: 'Only Mirage #1' });
await insertPenalties(database.db, [{ type: 'ban' }, { type: 'ban' }]);
const { token } = await aToken(database.db);
const folder = createTestFolder();
afterAll(folder.remove);
const service = await startTestService({
  databaseUrl: database.url,
  env: { PORT: String(port), PUBLIC_URL: url, RATE_LIMIT_PUBLIC: '31', RATE_LIMIT_PROTECTED: '62' },
});
const pages = await Promise.all(
  ['/swagger', '/swagger/pl'].map(async (path) => (await service.ask(path)).text),
);

/** What a page shows of a sample, as a reader copies it. */
function shown(page: string, id: string): string {
  const [, code = ''] = new RegExp(`<pre id="${id}"[^>]*><code>([^]*?)</code>`).exec(page) ?? [];
  return code
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

const samples = [...firstRequest(url), ...requestWithToken(url), conditionalRequest(url), streamRequest(url)];

test('both languages show every sample, letter by letter', () => {
  for (const page of pages) {
    for (const { id, code } of samples) expect([id, shown(page, id)]).toEqual([id, code]);
  }
});

test('both languages have the same sections, and links within the page that lead somewhere', () => {
  const [english = [], polish] = pages.map((page) =>
    [...page.matchAll(/<section id="([^"]+)"/g)].map((match) => match[1]),
  );
  expect(english.length).toBeGreaterThan(8);
  expect(polish).toEqual(english);
  for (const page of pages) {
    for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(page).toContain(`id="${target}"`);
  }
});

test('the limits are those of this process', () => {
  for (const page of pages) expect(page).toMatch(/31.{1,80}62/s);
});

test('pasted, the samples in TypeScript work', async () => {
  const run = async (id: string) => {
    const file = join(folder.path, `${id}.ts`);
    await Bun.write(file, `export {};\n${samples.find((sample) => sample.id === id)?.code}`);
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, API_TOKEN: token };
    const child = Bun.spawn([process.execPath, file], { env, stdout: 'pipe' });
    return new Response(child.stdout).text();
  };
  expect(await run('first-typescript')).toBe('Only Mirage #1: 0\n');
  expect(await run('token-typescript')).toBe('2 active bans\n');
});
