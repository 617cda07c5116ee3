import { afterAll, beforeEach, expect, test } from 'bun:test';
import pino from 'pino';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startDatabaseProxy } from '../../../support/database/database-proxy.ts';
import { aToken, bearer, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const database = await createTestDatabase();
const proxy = await startDatabaseProxy(database.url);
const { token } = await aToken(database.db, 1);
const lines: { msg: string; slow?: string[]; waiting?: number }[] = [];
const service = await startTestService({
  databaseUrl: proxy.url,
  env: { PUBLIC_PENALTIES: '1' },
  hasRealClock: true,
  log: pino({}, { write: (line) => void lines.push(JSON.parse(line)) }),
});
afterAll(async () => {
  await service.stop();
});
beforeEach(() => {
  lines.length = 0;
});

const PAGES = ['/penalties?page=2', '/penalties?q=somebody'];
const askForPage = (path: string) => service.ask(path, { headers: { Accept: 'text/html' } });
const linesOf = (message: string) => lines.filter(({ msg }) => msg === message);

test('pages and the API log once that the database is busy, and with what', async () => {
  await database.connection.begin(async (transaction) => {
    await transaction`lock table penalties`;
    const lists = Array.from({ length: 4 }, () => service.ask('/api/v1/penalties?reason=abc', bearer(token)));
    const pages = await Promise.all(PAGES.map(askForPage));
    for (const { status, text, headers } of pages) {
      expect([status, headers.get('retry-after')]).toEqual([503, '2']);
      expect(text).toContain(PAGE_TEXTS.en.errors.busy);
    }
    const refused = { success: false, message: 'The service is busy: try again shortly' };
    for (const { status, body } of await Promise.all(lists)) expect([status, body]).toEqual([503, refused]);
    expect((await service.ask('/readyz')).status).toBe(200);
  });
  const busy = linesOf('the database is busy');
  expect(busy).toHaveLength(1);
  expect(busy[0]?.slow?.length).toBeGreaterThan(0);
  expect(linesOf('the database is unreachable')).toEqual([]);
});

test('pages alone log once that the database is unreachable', async () => {
  proxy.cut();
  await waitFor(async () => (await askForPage('/penalties?page=2')).status === 503);
  for (const path of PAGES) expect((await askForPage(path)).text).toContain(PAGE_TEXTS.en.errors.unavailable);
  expect(linesOf('the database is unreachable')).toHaveLength(1);
  proxy.restore();
});

test('/readyz is 503 while the database is unreachable', async () => {
  proxy.cut();
  expect(await service.ask('/readyz')).toMatchObject({ status: 503, body: { database: 'down' } });
  proxy.restore();
  await waitFor(async () => (await service.ask('/readyz')).status === 200);
});
