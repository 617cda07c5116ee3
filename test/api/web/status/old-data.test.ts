import { expect, test } from 'bun:test';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { insertServerWithHistory } from '../../../support/database/server-history.ts';
import { NOW, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const { db, url } = await createTestDatabase();
const service = await startTestService({ databaseUrl: url, env: { POLL_INTERVAL_SECONDS: '20' } });
const players = [{ name: 'Rzeźnik', score: 20 }];
await insertServerWithHistory(db, { now: NOW, players, days: 1, slug: 'mirage', name: 'Mirage' });
const textOf = async (path: string) => (await service.ask(path)).text;
await waitFor(async () => (await textOf('/api/v1/servers/mirage')).includes('"is_online":true'));

const POLLED_AT = new Date(NOW.getTime() - 5000);
const { status: t } = PAGE_TEXTS.en;
const PATHS = ['/', '/servers/mirage', '/connect/mirage'];
const SIZES = ['560x95', '160x248'];

/** Whether a page says that the server is online, that its state is unknown, and since when. */
async function readState(path: string): Promise<boolean[]> {
  const page = await textOf(path);
  const since = `${t.uncheckedSince} <time datetime="${POLLED_AT.toISOString()}"`;
  return ['server-state is-online', 'server-state is-unknown', since].map((text) => page.includes(text));
}
const readBanner = async (size: string) =>
  (await service.ask(`/servers/mirage/banner.png?size=${size}`)).headers.get('etag');

test('what was not checked for three intervals is shown as such, and fields of the API stay', async () => {
  service.clock.now = new Date(POLLED_AT.getTime() + 60_000);
  for (const path of PATHS) expect(await readState(path)).toEqual([true, false, false]);
  const banners = await Promise.all(SIZES.map(readBanner));

  service.clock.now = new Date(POLLED_AT.getTime() + 60_001);
  for (const path of PATHS) {
    // Pages are cached for a second.
    await waitFor(async () => Bun.deepEquals(await readState(path), [false, true, true]));
  }
  expect((await textOf('/')).includes(t.allUncheckedSince)).toBe(true);
  for (const path of PATHS) {
    expect(await textOf(path)).toContain(`<meta property="og:description" content="${t.unchecked}"/>`);
  }
  expect((await textOf('/servers/mirage')).includes('Rzeźnik')).toBe(false);
  for (const [index, size] of SIZES.entries()) {
    await waitFor(async () => (await readBanner(size)) !== banners[index]);
  }
  expect((await service.get('/servers/mirage')).body).toMatchObject({
    data: { is_online: true, players_count: 1, players },
  });
});
