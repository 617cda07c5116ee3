import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { en } from '../../../../api/web/locales/en.ts';
import { pl } from '../../../../api/web/locales/pl.ts';
import { serverMapPeriods, servers } from '../../../../src/db/schema/servers.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { insertServerWithHistory } from '../../../support/database/server-history.ts';
import { NOW, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';
import { openBrowser } from '../../../support/web/browser.ts';
import { textOf } from '../../../support/web/page-text.ts';

const { db, url } = await createTestDatabase();
const service = await startTestService({
  databaseUrl: url,
  env: {
    SITE_NAME: 'Zagrywka',
    SITE_ACCENT: '#3b82f6',
    DISCORD_INVITE_URL: 'https://discord.gg/zagrywka',
    PUBLIC_URL: 'http://localhost:3000',
  },
});
const visitor = openBrowser(service.origin);
const polish = openBrowser(service.origin, { language: 'pl' });

test('the status page without servers says how to add one', async () => {
  const page = await visitor.get('/');
  expect(page.status).toBe(200);
  expect(textOf(page.text)).toContain(en.status.none);
  expect(textOf(page.text)).toContain('bun run cli servers add --name "My server"');
  expect(textOf((await polish.get('/')).text)).toContain(pl.status.none);
});

describe('with servers', () => {
  let mirage: { id: number };
  beforeAll(async () => {
    const players = [
      { name: 'Rzeźnik', score: 20, seconds: 4000 },
      { name: 'Ala', score: 3 },
    ];
    mirage = await insertServerWithHistory(db, {
      now: NOW,
      slug: 'mirage',
      name: 'Only Mirage',
      address: 'play.example.org:27015',
      players,
      playersCount: 3,
    });
    const startedAt = new Date(NOW.getTime() - 600 * 3_600_000);
    const endedAt = new Date(startedAt.getTime() + 3_600_000);
    await db.insert(serverMapPeriods).values({ serverId: mirage.id, map: 'de_dust2', startedAt, endedAt });
    for (const server of [
      { slug: 'full', name: 'Retake', playersCount: 10, maxPlayers: 10 },
      { slug: 'off', name: 'Bhop', isOnline: false, days: 1 },
      { slug: 'hidden', name: 'Secret', isHidden: true, days: 0 },
      { slug: 'odd', name: 'Odd', address: 'evil\r\nX: y', days: 0 },
    ]) {
      await insertServerWithHistory(db, { now: NOW, ...server });
    }
    await db.update(servers).set({ position: 1 }).where(eq(servers.slug, 'odd'));
    const online = en.status.summary(3, 4, 13);
    await waitFor(async () =>
      new RegExp(`${online}.*id="server-full".*id="server-odd"`, 's').test((await visitor.get('/')).text),
    );
  });

  test('the status page shows the community, and a card a server', async () => {
    const { numbers, states, map, ping, milliseconds } = en.status;
    const { text, status } = await visitor.get('/');
    const words = textOf(text);
    expect(status).toBe(200);
    expect(text).toContain('<title>Zagrywka</title>');
    expect(words).toContain('1 server is offline');
    expect(words).toMatch(new RegExp(`${numbers.players} 13 ${numbers.online} 3 / 4 ${numbers.peak} \\d+`));
    expect(words).toContain(
      `Only Mirage ${states.online} Competitive · EU ${map} de_mirage ${ping} ${milliseconds(12)} 3 / 24 ${en.status.playersOf(3, 24)}`,
    );
    expect(words).toContain(`${en.status.peakOf(20)} play.example.org:27015`);
    expect(words).toContain(`Retake ${states.full}`);
    // By position, then by name; the last one is the first by name.
    expect(words).toMatch(
      new RegExp(
        `Only Mirage.*Retake ${states.full}.*Odd.*Bhop ${states.offline} Competitive · EU ${en.status.lastSeen}`,
      ),
    );
    expect(words).not.toContain('Secret');
    expect(text.match(/<svg class="sparkline"/g)?.length).toBe(4);
    expect(text).toContain('data-steam="steam://connect/play.example.org:27015"');
    // A server that is offline has no link to connect.
    expect(text).not.toContain('href="/connect/off"');
  });

  test('the status page has a link preview, and reloads in browsers without scripts', async () => {
    const { text } = await visitor.get('/');
    expect(text).toContain('<meta property="og:title" content="Zagrywka"/>');
    expect(text).toContain(`content="${en.status.summary(3, 4, 13)}"`);
    // The picture of the server with the most players.
    expect(text).toContain(
      '<meta property="og:image" content="http://localhost:3000/servers/full/banner.png"/>',
    );
    expect(text).toContain('<meta property="og:url" content="http://localhost:3000/"/>');
    expect(text).toContain('<noscript><meta http-equiv="refresh" content="30"/></noscript>');
    expect(text).not.toContain('noindex');
  });

  test('the navigation leads to Discord, and the accent is in the stylesheet', async () => {
    const { text } = await visitor.get('/');
    expect(text).toContain('href="https://discord.gg/zagrywka"');
    const css = /href="(\/account\/assets\/pages[^"]+)"/.exec(text)?.[1] ?? '';
    expect((await visitor.get(css)).text).toContain('--accent:#3b82f6');
  });

  test('visitors share what caches may keep for seconds, and are sent 304 while nothing has changed', async () => {
    const { headers } = await visitor.get('/');
    expect(headers.get('cache-control')).toBe('public, max-age=5');
    expect(headers.get('vary')).toBe('Accept-Encoding, Accept-Language, Cookie');
    const again = await visitor.get('/', { 'if-none-match': headers.get('etag') ?? '' });
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', headers.get('etag')]);
    const [english, other] = await Promise.all([visitor.get('/'), polish.get('/')]);
    expect(english.headers.get('etag')).not.toBe(other.headers.get('etag'));
  });

  test('a visitor who chooses a language is redirected to the page in that language, which is shared', async () => {
    const browser = openBrowser(service.origin);
    const chosen = await browser.get('/?lang=pl&x=1');
    expect([chosen.status, chosen.location, chosen.headers.get('cache-control')]).toEqual([
      303,
      '/?x=1',
      'no-store',
    ]);
    const { headers, text } = await browser.get('/');
    expect(headers.get('cache-control')).toBe('public, max-age=5');
    expect(headers.getSetCookie()).toEqual([]);
    expect(text).toContain('<html lang="pl">');
    expect((await browser.get('/')).text).toContain('<html lang="pl">');
    expect((await visitor.get('/')).text).toContain('<html lang="en">');
  });

  test.each([
    '/',
    '/servers/mirage',
    '/connect/mirage',
    '/servers/nope',
    '/account',
    '/account/nothing',
    '/account/moderation',
  ])('%s has one status, type, ETag and length, by GET and by HEAD', async (path) => {
    const ask = async (method: string) => {
      // With a query, so that no response comes from the cache.
      const address = `${service.origin}${path}?x=1`;
      const { status, headers } = await fetch(address, {
        method,
        headers: { 'accept-encoding': 'identity' },
        redirect: 'manual',
      });
      return [status, ...['content-type', 'etag', 'content-length'].map((name) => headers.get(name))];
    };
    expect(await ask('HEAD')).toEqual(await ask('GET'));
  });

  test('HEAD does not change what others are sent', async () => {
    await insertServerWithHistory(db, { now: NOW, slug: 'fresh', name: 'Fresh', days: 0 });
    await waitFor(async () => (await visitor.get('/')).text.includes('Fresh'));
    await fetch(`${service.origin}/connect/fresh`, { method: 'HEAD' });
    expect((await visitor.get('/connect/fresh')).text).toContain('href="?lang=pl"');
  });

  describe('the page of a server', () => {
    test('shows who is playing, the highest score first', async () => {
      const { playersNow, time, score, moreUnnamed } = en.server;
      const { text, status } = await visitor.get('/servers/mirage');
      expect(status).toBe(200);
      expect(text).toContain('<title>Only Mirage · Zagrywka</title>');
      expect(textOf(text)).toContain(
        `${playersNow} 3 / 24 ${en.penalties.columns.player} ${time} ${score} Rzeźnik 1 h 7 min 20 Ala – 3 ${moreUnnamed(1)}`,
      );
      expect(text).toContain(
        `content="${en.status.states.online} · de_mirage · ${en.status.playersOf(3, 24)}"`,
      );
    });

    test('draws 24 hours, 7 and 30 days, each with words and a table in its place', async () => {
      const { chartSummary, chartCapacity } = en.server;
      const { text } = await visitor.get('/servers/mirage');
      // The outage four days ago is on two of the three charts.
      for (const [id, range, wasOffline] of [
        ['day', en.server.ranges.day, false],
        ['week', en.server.ranges.week, true],
        ['month', en.server.ranges.month, true],
      ] as const) {
        expect(text).toContain(
          `<title id="chart-${id}-title">${en.server.chartTitle('Only Mirage', range)}</title>`,
        );
        expect(text).toMatch(
          new RegExp(
            `<desc id="chart-${id}-words">${chartSummary('[\\d.]+', 20, wasOffline)} ${chartCapacity(24)}`,
          ),
        );
      }
      expect(text.match(/<details class="chart-table">/g)?.length).toBe(3);
      expect(text.match(/class="plot-offline"/g)?.length).toBe(2);
    });

    test('tells of uptime and of the maps that were played', async () => {
      const words = textOf((await visitor.get('/servers/mirage')).text);
      expect(words).toContain(`${en.server.uptime} 99.3`);
      expect(words).toMatch(
        new RegExp(
          `${en.server.maps} .*de_inferno ${en.server.hours(22)} ${en.server.minutes(30)} · ${en.server.times(30)} ` +
            `.*de_dust2 ${en.server.hours(1)} · ${en.server.times(1)}`,
        ),
      );
    });

    test('says why no players are listed', async () => {
      expect(textOf((await visitor.get('/servers/full')).text)).toContain(en.server.namesUnknown);
      const { playersNow, whileOffline } = en.server;
      expect(textOf((await visitor.get('/servers/off')).text)).toContain(`${playersNow} ${whileOffline}`);
      expect(textOf((await polish.get('/servers/full')).text)).toContain(pl.server.namesUnknown);
    });
  });

  describe('the page that connects', () => {
    test('offers the game and the line for its console, and redirects nobody', async () => {
      const { text, status, headers } = await visitor.get('/connect/mirage');
      expect([status, headers.get('location')]).toEqual([200, null]);
      expect(text).not.toContain('http-equiv="refresh"');
      expect(text).toContain('href="steam://connect/play.example.org:27015"');
      expect(textOf(text)).toContain('connect play.example.org:27015');
      expect(textOf(text)).toMatch(
        new RegExp(`Only Mirage ${en.status.states.online} ${en.status.map} de_mirage 3 / 24`),
      );
    });

    test('warns of a server that is full or offline', async () => {
      expect(textOf((await visitor.get('/connect/full')).text)).toContain(en.connect.full);
      expect(textOf((await visitor.get('/connect/off')).text)).toContain(en.connect.offline);
    });

    test('offers no address that is not HOST:PORT', async () => {
      const { text, status } = await visitor.get('/connect/odd');
      expect([status, text.includes('steam://')]).toEqual([200, false]);
      expect(textOf(text)).toContain(en.connect.noAddress);
    });
  });

  test.each(['/servers/hidden', '/connect/hidden', '/servers/nope', '/connect/nope', '/servers/%00'])(
    '%s is a page that says so, 404',
    async (path) => {
      const { status, text, headers } = await visitor.get(path);
      expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
        404,
        'text/html; charset=utf-8',
        'no-store',
      ]);
      expect(textOf(text)).toContain(en.errors.titles.noServer);
      expect(textOf((await polish.get(path)).text)).toContain(pl.errors.titles.noServer);
    },
  );

  test('a server that is hidden from now on is gone from every page', async () => {
    await db.update(servers).set({ isHidden: true }).where(eq(servers.id, mirage.id));
    await waitFor(async () => (await visitor.get('/servers/mirage')).status === 404);
    await waitFor(async () => !(await visitor.get('/')).text.includes('Only Mirage'));
    await db.update(servers).set({ isHidden: false }).where(eq(servers.id, mirage.id));
    await waitFor(async () => (await visitor.get('/')).text.includes('Only Mirage'));
  });
});

const limited = await startTestService({ databaseUrl: url, env: { RATE_LIMIT_PUBLIC: '1' } });
afterAll(limited.stop);

test('pages allow four times as many requests as the public API, then respond with 429', async () => {
  const browser = openBrowser(limited.origin);
  const statuses: number[] = [];
  const within = ['/', '/servers/full', '/account', '/'];
  const beyond = ['/', '/account', '/account/none', '/nothing', '/account/data'];
  for (const path of [...within, ...beyond])
    statuses.push((await browser.get(path, { accept: 'text/html' })).status);
  expect(statuses).toEqual([200, 200, 200, 200, 429, 429, 429, 429, 429]);
  const refused = await browser.get('/');
  expect(refused.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const pause = Number(refused.headers.get('retry-after'));
  expect(pause).toBeWithin(1, 61);
  expect(refused.text).toContain(en.errors['too-many-requests'](pause));
  const [, styles = ''] = /<link rel="stylesheet" href="([^"]+)"/.exec(refused.text) ?? [];
  expect((await browser.get(styles)).status).toBe(200);
  // The API and the banners have separate limits.
  expect((await limited.ask('/api/v1/servers')).status).toBe(200);
  const banners = await Promise.all(
    Array.from({ length: 300 }, () => limited.ask('/servers/nope/banner.png')),
  );
  expect(new Set(banners.map(({ status }) => status))).toEqual(new Set([404]));
  expect((await limited.ask('/servers/nope/banner.png')).status).toBe(429);
});
