import { describe, expect, test } from 'bun:test';
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
const service = await startTestService({
  databaseUrl: database.url,
  env: { PORT: String(port), PUBLIC_URL: url, RATE_LIMIT_PUBLIC: '31', RATE_LIMIT_PROTECTED: '62' },
});
const folder = createTestFolder();
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

/** Runs a command with the token in the environment. */
async function run(command: string[]): Promise<string> {
  const child = Bun.spawn(command, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, API_TOKEN: token },
    stdout: 'pipe',
  });
  return new Response(child.stdout).text();
}

async function runTypescript(code: string): Promise<string> {
  const file = join(folder.path, `${Bun.hash(code)}.ts`);
  await Bun.write(file, `export {};\n${code}`);
  return run([process.execPath, file]);
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

describe('pasted, the samples work:', () => {
  const codeOf = (id: string) => samples.find((sample) => sample.id === id)?.code ?? '';

  test.skipIf(Bun.which('curl') === null)('in curl', async () => {
    expect(JSON.parse(await run(['sh', '-c', codeOf('first-curl')]))).toMatchObject({ success: true });
    expect(JSON.parse(await run(['sh', '-c', codeOf('token-curl')]))).toMatchObject({ meta: { total: 2 } });
    expect(await run(['sh', '-c', codeOf('etag-curl')])).toBe('304\n');
    const stream = await run(['sh', '-c', `timeout 2 ${codeOf('events-curl')}`]);
    expect(stream).toMatch(/^id: [0-9a-f]{8}-[0-9]+$/m);
  });

  test('in TypeScript', async () => {
    expect(await runTypescript(codeOf('first-typescript'))).toBe('Only Mirage #1: 0\n');
    expect(await runTypescript(codeOf('token-typescript'))).toBe('2 active bans\n');
  });

  test.skipIf(Bun.which('php') === null)('in PHP', async () => {
    const php = (id: string) => run(['php', '-r', codeOf(id).replace('<?php', '')]);
    expect(await php('first-php')).toBe('Only Mirage #1: 0\n');
    expect(await php('token-php')).toBe('2 active bans\n');
  });
});
