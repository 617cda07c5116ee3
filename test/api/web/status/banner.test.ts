import { beforeAll, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { en } from '../../../../api/web/locales/en.ts';
import { toDrawable } from '../../../../src/charts/text.ts';
import { aServerState, saveServerPoll } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { insertServerWithHistory } from '../../../support/database/server-history.ts';
import { isNear, toPixels } from '../../../support/pixels.ts';
import { NOW, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';
import { ARTIFACTS } from '../../../support/web/browser-site.ts';

const { db, url } = await createTestDatabase();
const service = await startTestService({ databaseUrl: url, env: { SITE_NAME: 'Zagrywka' } });
const STATE = aServerState({ map: 'de_nuke', playersCount: 7 });
let id: number;

beforeAll(async () => {
  const seed = { now: NOW, days: 1, playersCount: 18 };
  ({ id } = await insertServerWithHistory(db, { ...seed, slug: 'one', name: 'Zażółć gęślą jaźń' }));
  await insertServerWithHistory(db, { ...seed, slug: 'long', name: 'W'.repeat(128), map: 'm'.repeat(200) });
  await insertServerWithHistory(db, { ...seed, slug: 'cyrillic', name: 'Только снайперы Αθήνα' });
  await insertServerWithHistory(db, { ...seed, slug: 'no-glyphs', name: '竞技场 خادم 😀' });
  await insertServerWithHistory(db, { ...seed, slug: 'some-glyphs', name: '竞技场 1v1 Arena 😀' });
  await insertServerWithHistory(db, { ...seed, slug: 'off', name: 'Offline', isOnline: false });
  await insertServerWithHistory(db, { ...seed, slug: 'hidden', name: 'Hidden', isHidden: true });
  await waitFor(async () => (await service.ask('/servers/off/banner.png')).status === 200);
  mkdirSync(ARTIFACTS, { recursive: true });
});

async function draw(slug: string, query = '') {
  const response = await fetch(`${service.origin}/servers/${slug}/banner.png${query}`);
  const bytes = new Uint8Array(await response.arrayBuffer());
  const { headers, status } = response;
  if (status !== 200) return { headers, status, bytes, width: 0, height: 0 };
  writeFileSync(join(ARTIFACTS, `banner-${slug}${query.replace(/\W+/g, '-')}.png`), bytes);
  const { width, height } = toPixels(bytes);
  return { headers, status, bytes, width, height };
}

test('a banner is a PNG of 560 by 95, or of 160 by 248 when asked (pictures in test/artifacts)', async () => {
  for (const slug of ['one', 'long', 'cyrillic', 'no-glyphs', 'some-glyphs', 'off']) {
    for (const [query, width, height] of [
      ['', 560, 95],
      ['?size=560x95', 560, 95],
      ['?size=160x248', 160, 248],
      ['?size=', 560, 95],
      ['?size=1x1&size=160x248', 160, 248],
    ] as const) {
      const banner = await draw(slug, query);
      expect([slug, query, banner.status, banner.headers.get('content-type')]).toEqual([
        slug,
        query,
        200,
        'image/png',
      ]);
      expect([banner.width, banner.height]).toEqual([width, height]);
    }
  }
});

test('names the site as its pages do without SITE_NAME: by its host, in the letters of its language', async () => {
  const bannerWith = async (env: Record<string, string>) => {
    const other = await startTestService({ databaseUrl: url, env });
    return new Uint8Array(await (await fetch(`${other.origin}/servers/off/banner.png`)).arrayBuffer());
  };
  const unnamed = await bannerWith({ PUBLIC_URL: 'https://łódź.example' });
  expect(unnamed).toEqual(await bannerWith({ SITE_NAME: 'łódź.example' }));
  expect(unnamed).not.toEqual(await bannerWith({ SITE_NAME: 'xn--d-uga0v4h.example' }));
});

test.each(['1x1', '560x95 ', '560X95'])(
  'another size such as %j is 400 and says which there are',
  async (size) => {
    const { status, body } = await service.ask(`/servers/one/banner.png?size=${encodeURIComponent(size)}`);
    expect([status, body]).toEqual([
      400,
      { success: false, message: `size ${JSON.stringify(size)} isn't valid: use 560x95 or 160x248` },
    ]);
  },
);

test.each(['hidden', 'nope'])(
  'the banner of a server that is not listed (%s) gives 404 and a page that says so',
  async (slug) => {
    const { status, text, headers } = await service.ask(`/servers/${slug}/banner.png`);
    expect([status, headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8']);
    expect(text).toContain(en.errors.titles.noServer);
  },
);

test('a banner may be shown by other sites and kept for seconds, and is 304 while it shows the same', async () => {
  const { headers } = await draw('one');
  expect(headers.get('cache-control')).toBe('public, max-age=15');
  expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
  expect(headers.getSetCookie()).toEqual([]);
  const again = await fetch(`${service.origin}/servers/one/banner.png`, {
    headers: { 'if-none-match': headers.get('etag') ?? '' },
  });
  expect([again.status, (await again.arrayBuffer()).byteLength]).toEqual([304, 0]);
});

test('a banner is redrawn when its content has changed, and not for a poll that changed nothing', async () => {
  const before = await draw('one');
  const state = { ...STATE, map: 'de_mirage', playersCount: 18, maxPlayers: 24 };
  await saveServerPoll(db, id, { state, polledAt: new Date(NOW.getTime() + 1000) });
  await saveServerPoll(db, id, { state: STATE, polledAt: new Date(NOW.getTime() + 2000) });
  await waitFor(async () => (await draw('one')).headers.get('etag') !== before.headers.get('etag'));
});

test('names are cut before they reach the text beside them', async () => {
  const pixels = toPixels((await draw('long')).bytes).read(352, 12, 16, 70);
  const foreign = pixels.filter((pixel) => !isNear(pixel, [20, 25, 33], 5));
  expect(foreign).toEqual([]);
});

test('a name without glyphs gives way to the slug, and what has none is left out', () => {
  expect(toDrawable('竞技场 1v1 Arena 😀', 'slug')).toBe('1v1 Arena');
  expect(toDrawable('竞技场 خادم 😀', 'slug')).toBe('slug');
  expect(toDrawable('Z\u0337a\u0336lgo S\u200berver Лу\u0301чший', 'slug')).toBe('Zalgo Server Лучший');
  // Browsers draw Hangul fillers as wide spaces, and players use them so.
  expect(toDrawable('Dust\u3164Only\uffa024\u115f\u11607', 'slug')).toBe('Dust Only 24 7');
  expect(toDrawable('Zażółć Только Αθήνα', 'slug')).toBe('Zażółć Только Αθήνα');
});
