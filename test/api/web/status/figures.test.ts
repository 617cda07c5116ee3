import { expect, test } from 'bun:test';
import { inArray } from 'drizzle-orm';
import { en } from '../../../../api/web/locales/en.ts';
import { pl } from '../../../../api/web/locales/pl.ts';
import { serverSamples, servers } from '../../../../src/db/schema/servers.ts';
import { aServerState, insertServer, saveServerPoll } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { insertServerWithHistory } from '../../../support/database/server-history.ts';
import { NOW, startTestService } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';
import { openBrowser } from '../../../support/web/browser.ts';
import { cardOf, rowsOf, textOf } from '../../../support/web/page-text.ts';

const { db, url } = await createTestDatabase();
const service = await startTestService({ databaseUrl: url, env: { POLL_INTERVAL_SECONDS: '20' } });
const visitor = openBrowser(service.origin);
/** The query keeps the page out of the cache, which serves it for a second. */
const HOME = '/?fresh';
/** A period in which nobody plays. */
const EMPTY = { periodSeconds: 300, playersAverage: 0, playersMaximum: 0, maxPlayers: 24, onlineShare: 1 };

test('servers that were not checked yet are not said to be online or offline', async () => {
  const readVerdict = async (language: string) =>
    textOf(
      /<p class="verdict.*?<\/p>/s.exec(
        (await visitor.get(HOME, { 'accept-language': language })).text,
      )?.[0] ?? '',
    );
  const { id: unchecked } = await insertServer(db, { slug: 'unchecked' });
  const { id } = await insertServerWithHistory(db, { now: NOW, days: 0, slug: 'checked' });
  await waitFor(async () => (await visitor.get(HOME)).text.includes('1 of 2 servers online'));
  expect(await readVerdict('en')).toBe('1 server has not been checked yet');
  expect(await readVerdict('pl')).toBe('1 serwer nie został jeszcze sprawdzony');
  for (let poll = 0; poll < 2; poll++) {
    await saveServerPoll(db, id, { state: undefined, polledAt: new Date(NOW.getTime() + poll) });
  }
  await waitFor(async () => (await visitor.get(HOME)).text.includes('0 of 2 servers online'));
  expect(await readVerdict('en')).toBe('1 server is offline');
  await db.delete(servers).where(inArray(servers.id, [id, unchecked]));
  await waitFor(async () => (await visitor.get(HOME)).text.includes(en.status.none));
});

test('the peak of the community is not below that of its only server', async () => {
  const { id } = await insertServerWithHistory(db, { now: NOW, days: 0, slug: 'one', playersCount: 2 });
  await db.insert(serverSamples).values(
    [60, 55].map((minutes) => ({
      ...EMPTY,
      serverId: id,
      sampledAt: new Date(NOW.getTime() - minutes * 60_000),
      // Of one period, in which ten were there for a while.
      playersAverage: 6,
      playersMaximum: 10,
    })),
  );
  await waitFor(async () => (await visitor.get(HOME)).text.includes('server-one'));
  const words = textOf((await visitor.get(HOME)).text);
  expect(words).toContain(en.status.peakOf(10));
  expect(words).toContain(`${en.status.numbers.online} 1 / 1 ${en.status.numbers.peak} 10`);
});

test('the peak of a server is not below the players who are there now', async () => {
  const { id } = await insertServerWithHistory(db, { now: NOW, days: 1, slug: 'two', playersCount: 3 });
  await waitFor(async () => (await visitor.get(HOME)).text.includes('server-two'));
  const state = aServerState({ map: 'de_nuke', playersCount: 24, maxPlayers: 24 });
  await saveServerPoll(db, id, { state, polledAt: new Date(NOW.getTime() - 1000) });
  const readCard = async () => textOf((await visitor.get(HOME)).text.split('id="server-two"')[1] ?? '');
  await waitFor(async () => (await readCard()).includes(en.status.playersOf(24, 24)));
  expect(await readCard()).toContain(en.status.peakOf(24));
});

test('an outage that the uptime of 30 days counts is in one of the bars', async () => {
  const { id } = await insertServerWithHistory(db, { now: NOW, days: 0, slug: 'three' });
  const hoursAgo = (hours: number) => new Date(NOW.getTime() - hours * 3_600_000);
  await db.insert(serverSamples).values([
    // On the day in which the 30 days begin.
    { ...EMPTY, serverId: id, sampledAt: hoursAgo(30 * 24 - 2), onlineShare: 0 },
    { ...EMPTY, serverId: id, sampledAt: hoursAgo(2) },
    { ...EMPTY, serverId: id, sampledAt: hoursAgo(1) },
  ]);
  await waitFor(async () => (await visitor.get('/servers/three')).status === 200);
  const card = cardOf((await visitor.get('/servers/three')).text, 'uptime');
  expect(textOf(card)).toStartWith(`${en.server.uptime} 75%`);
  expect(card.match(/uptime-(poor|good)/g)).toEqual(['uptime-poor', 'uptime-good']);
  expect(card).toContain(`<title>${en.server.uptimeOn('22 Oct', '0%')}</title>`);
});

test('the average of a chart is that of its table: nobody plays while a server is offline', async () => {
  const { id } = await insertServerWithHistory(db, { now: NOW, days: 0, slug: 'four', playersCount: 16 });
  const sampleOf = (begin: string, hours: number, players: number | undefined) =>
    Array.from({ length: hours * 12 }, (_, step) => ({
      ...EMPTY,
      serverId: id,
      sampledAt: new Date(Date.parse(`2026-11-${begin}:00Z`) + step * 300_000),
      playersAverage: players ?? 0,
      playersMaximum: players ?? 0,
      onlineShare: players === undefined ? 0 : 1,
    }));
  await db.insert(serverSamples).values([
    ...sampleOf('20T12:00', 3, 18),
    ...sampleOf('20T15:00', 6, undefined),
    // The last five minutes of this hour are those of the poll above.
    ...sampleOf('21T09:00', 11 / 12, 16),
  ]);
  await waitFor(async () => (await visitor.get('/servers/four')).status === 200);
  const readChart = async (range: string, language: string) => {
    const { text } = await visitor.get('/servers/four', { 'accept-language': language });
    return new RegExp(
      `<figure class="chart" aria-labelledby="chart-${range}-caption">.*?</figure>`,
      's',
    ).exec(text)?.[0];
  };
  for (const range of ['day', 'week', 'month']) {
    const chart = (await readChart(range, 'en')) ?? '';
    expect(textOf(/<p class="chart-legend">.*?<\/p>/s.exec(chart)?.[0] ?? '')).toBe(
      en.server.chartSummary('7', 18, true),
    );
    expect(await readChart(range, 'pl')).toContain(pl.server.chartSummary('7', 18, true));
  }
  // Nine hours of the one day and one of the other: 0.9 × 6 + 0.1 × 16.
  const rows = [...((await readChart('week', 'en')) ?? '').matchAll(/<\/th><td>(.*?)<\/td>/g)];
  expect(rows.map(([, average]) => average)).toEqual(['16', '6']);
});

test('the page of a server has days and times of TIME_ZONE', async () => {
  const inWarsaw = await startTestService({ databaseUrl: url, env: { TIME_ZONE: 'Europe/Warsaw' } });
  const { id } = await insertServerWithHistory(db, { now: NOW, days: 0, slug: 'five' });
  await db.insert(serverSamples).values([
    // Half past eleven and half past midnight in Warsaw: the two sides of one hour in UTC.
    { ...EMPTY, serverId: id, sampledAt: new Date('2026-11-18T22:30:00Z'), onlineShare: 0 },
    { ...EMPTY, serverId: id, sampledAt: new Date('2026-11-18T23:30:00Z'), playersAverage: 9 },
  ]);
  const read = () => openBrowser(inWarsaw.origin).get('/servers/five');
  await waitFor(async () => (await read()).status === 200);
  const { text } = await read();
  expect(text).toContain(`<title>${en.server.uptimeOn('18 Nov', '0%')}</title>`);
  expect(text).toContain(`<title>${en.server.uptimeOn('19 Nov', '100%')}</title>`);
  const week = /<figure class="chart" aria-labelledby="chart-week-caption">.*?<\/figure>/s.exec(text)?.[0];
  expect(rowsOf(week ?? '')).toContain('19 Nov 2026, 00:00 CET 9 0 100%');
});

// This comes last, since it removes the servers above and moves the clock.
test('what was not checked for three intervals is shown as such, and fields of the API stay', async () => {
  const { uncheckedSince, allUncheckedSince, unchecked } = en.status;
  const players = [{ name: 'Rzeźnik', score: 20 }];
  await db.delete(servers);
  await insertServerWithHistory(db, { now: NOW, players, days: 1, slug: 'mirage', name: 'Mirage' });
  await waitFor(async () => (await visitor.get(HOME)).text.includes(en.status.summary(1, 1, 1)));
  const polledAt = new Date(NOW.getTime() - 5000);
  const since = `${uncheckedSince} <time datetime="${polledAt.toISOString()}"`;
  const paths = ['/', '/servers/mirage', '/connect/mirage'];
  /** Whether a page says that the server is online, that its state is unknown, and since when. */
  const readState = async (path: string) => {
    const { text } = await visitor.get(path);
    return ['server-state is-online', 'server-state is-unknown', since].map((words) => text.includes(words));
  };
  const readBanners = () =>
    Promise.all(
      ['560x95', '160x248'].map(async (size) =>
        (await visitor.get(`/servers/mirage/banner.png?size=${size}`)).headers.get('etag'),
      ),
    );

  service.clock.now = new Date(polledAt.getTime() + 60_000);
  for (const path of paths) expect(await readState(path)).toEqual([true, false, false]);
  const [wide, tall] = await readBanners();
  service.clock.now = new Date(polledAt.getTime() + 60_001);
  for (const path of paths) {
    // Pages are cached for a second.
    await waitFor(async () => Bun.deepEquals(await readState(path), [false, true, true]));
    const { text } = await visitor.get(path);
    expect(text).toContain(`<meta property="og:description" content="${unchecked}"/>`);
  }
  expect((await visitor.get(HOME)).text).toContain(allUncheckedSince);
  expect((await visitor.get('/servers/mirage')).text).not.toContain('Rzeźnik');
  await waitFor(async () => {
    const [nowWide, nowTall] = await readBanners();
    return nowWide !== wide && nowTall !== tall;
  });
  expect((await service.get('/servers/mirage')).body).toMatchObject({
    data: { is_online: true, players_count: 1, players },
  });
});
