import { expect, test } from 'bun:test';
import {
  conditionalRequest,
  firstRequest,
  requestWithToken,
  streamRequest,
} from '../../../api/openapi/guide/samples.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { findFreePort } from '../../support/machine/free-port.ts';
import { startTestService } from '../../support/service/service.ts';

const database = await createTestDatabase();
const port = await findFreePort();
const url = `http://127.0.0.1:${port}`;
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
