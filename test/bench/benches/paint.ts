import type { Browser } from 'playwright-core';
import { openDatabase } from '../../../src/db/database.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { insertServerWithHistory } from '../../support/database/server-history.ts';
import { CHROMIUM_PATH, launchChromium } from '../../support/web/chromium.ts';
import { type Bench, formatMs, measureSideBySide, NotMeasured, type Row } from '../bench.ts';
import { pathOf, startChild } from '../support/child.ts';
import { START_COMMAND, serviceEnv } from '../support/service.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

const SERVERS = 20;
const PATHS = ['/', '/servers/s1', '/connect/s1', '/account'];
const ROUNDS = 5;
const LIMIT_MS = 1000;
const MAX_BYTES = 100_000;
const BARE_SERVER = 'test/bench/support/bare-server.ts';
const BARE_PAGE = JSON.stringify({
  body: '<!doctype html><title>Bare</title><p>Hello',
  headers: { 'content-type': 'text/html; charset=utf-8' },
});
/** A phone with a slow processor on "slow 4G", by the numbers of Lighthouse: 150 ms a request, 1.6 and 0.75 Mbit/s. */
const PHONE = {
  viewport: { width: 412, height: 823 },
  deviceScaleFactor: 1.75,
  isMobile: true,
  hasTouch: true,
  locale: 'en-GB',
};
const LATENCY_MS = 150;
const DOWN_BYTES_PER_SECOND = 1_600_000 / 8;
const UP_BYTES_PER_SECOND = 750_000 / 8;
const SLOWER_PROCESSOR = 4;

/** What a browser without a cache waits for, until something of the page is seen. */
export const paint: Bench = {
  name: 'paint',
  title: 'the first view of a page on a slow phone, in Chromium',
  run: async () => {
    if (!CHROMIUM_PATH) throw new NotMeasured('Chromium is not installed');
    await using postgres = await startTemporaryPostgres('paint');
    await fillServers(postgres.url);
    const service = await startChild(START_COMMAND, serviceEnv(postgres.url, postgres.folder));
    const bare = await startChild([process.execPath, pathOf(BARE_SERVER), 'answer', BARE_PAGE]);
    try {
      await using browser = await launchChromium();
      const rows: Row[] = [];
      for (const path of PATHS) {
        rows.push(await measure(browser, { path, ours: service.origin + path, floor: bare.origin }));
      }
      return rows;
    } finally {
      await service.stop();
      await bare.stop();
    }
  },
};

async function fillServers(url: string): Promise<void> {
  await migrateDatabase(url);
  const { db, close } = openDatabase(url);
  for (let number = 1; number <= SERVERS; number++) {
    const players = Array.from({ length: number % 10 }, (_, i) => ({ name: `Gracz ${i}`, score: 20 - i }));
    await insertServerWithHistory(db, {
      now: new Date(),
      name: `Only Mirage #${number}`,
      slug: `s${number}`,
      players,
    });
  }
  await close();
}

async function measure(
  browser: Browser,
  { path, ours, floor }: { path: string; ours: string; floor: string },
): Promise<Row> {
  const bytes: number[] = [];
  const paintedMs = await measureSideBySide(
    {
      ours: async () => {
        const view = await openFirstView(browser, ours);
        bytes.push(view.bytes);
        return view.paintedMs;
      },
      floor: async () => (await openFirstView(browser, floor)).paintedMs,
    },
    { rounds: ROUNDS },
  );
  const weight = Math.max(...bytes);
  return {
    what: `${path}, ${(weight / 1000).toFixed(1)} kB`,
    ours: formatMs(paintedMs.ours),
    floor: `a page of one word: ${formatMs(paintedMs.floor)}`,
    ratio: `+${formatMs(paintedMs.ours - paintedMs.floor)}`,
    target: `≤ ${LIMIT_MS} ms, < ${MAX_BYTES / 1000} kB`,
    isReached: paintedMs.ours <= LIMIT_MS && weight < MAX_BYTES,
  };
}

type FirstView = { paintedMs: number; bytes: number };

async function openFirstView(browser: Browser, url: string): Promise<FirstView> {
  const context = await browser.newContext(PHONE);
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: LATENCY_MS,
    downloadThroughput: DOWN_BYTES_PER_SECOND,
    uploadThroughput: UP_BYTES_PER_SECOND,
  });
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWER_PROCESSOR });
  let bytes = 0;
  devtools.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await page.goto(url);
  await page.waitForLoadState('networkidle');
  const paintedMs = await page.evaluate<number>(
    'performance.getEntriesByName("first-contentful-paint")[0].startTime',
  );
  await context.close();
  return { paintedMs, bytes };
}
