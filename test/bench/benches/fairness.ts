import { join } from 'node:path';
import { aSteamId } from '../../support/database/builders.ts';
import { findFreePort } from '../../support/machine/free-port.ts';
import { startSteamOpenIdProvider } from '../../support/providers/steam-openid-provider.ts';
import { type Browser, openBrowser } from '../../support/web/browser.ts';
import { type Bench, compare, limitFigure, percentile, type Row, requireTool } from '../bench.ts';
import { open } from '../support/database-time.ts';
import { createTokenHeaders, PLAYER, startDatasetService } from '../support/service.ts';
import { createTemporaryFolder } from '../support/temporary-postgres.ts';
import { watchRequests } from '../support/watch-requests.ts';
import { runWrk } from '../support/wrk.ts';

const QUIET_MS = 20_000;
const BUSY_MS = 60_000;
const IN_FLIGHT = 60;
/** Contained in no reason, and sorted by a column that the filter has no index with. */
const DEAREST_LIST = '/api/v1/penalties?reason=zz11&sort=ends';
const OWNERS = 6;
/** As long as a short mp3. */
const SOUND_BYTES = 80_000;
/** So many that none reaches the limits of pages and forms. */
const MEMBERS = 30;
const LOOKUP = "another owner's GET /users/lookup";
const COMPARED = ['GET /servers', 'a page of penalties', 'a sound'];
const PROMPT = ['an account page', 'a form', 'a sign-in', 'GET /penalties/{id}', 'GET /penalties/changes'];

/** Requests of others than the owners of the lists. */
type Requests = Parameters<typeof watchRequests>[0]['requests'];
type Watches = Awaited<ReturnType<typeof watchRequests>>;

export const fairness: Bench = {
  name: 'fairness',
  title: `others beside one owner with ${IN_FLIGHT} of the dearest lists in flight, and beside ${OWNERS} with one a second each`,
  run: async (options) => {
    requireTool('wrk');
    await using storage = await createTemporaryFolder('fairness');
    await Bun.write(join(storage.path, 'roundsound', `${PLAYER}.mp3`), new Uint8Array(SOUND_BYTES));
    const steam = startSteamOpenIdProvider();
    const port = findFreePort();
    await using service = await startDatasetService(options, {
      STORAGE_DIR: storage.path,
      PUBLIC_PENALTIES: '1',
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      STEAM_OPENID_URL: steam.url,
      TRUSTED_PROXIES: '127.0.0.1',
    });
    const { origin, headers, databaseUrl } = service;
    await using database = await open(databaseUrl);
    const other = await createTokenHeaders(database.db, 1);
    const members: Browser[] = [];
    for (let number = 1; number <= MEMBERS; number++) {
      steam.steamId = aSteamId(1000 + number);
      const browser = openBrowser(origin);
      await signInFrom(browser, `10.0.0.${number}`);
      await browser.get('/account');
      members.push(browser);
    }
    steam.steamId = aSteamId(1000);
    const memberOf = (number: number) => members[number % MEMBERS] ?? openBrowser(origin);
    const requests: Requests = {
      '/readyz': () => '/readyz',
      'GET /servers': () => '/api/v1/servers',
      [LOOKUP]: () => `/api/v1/users/lookup?steamid64=${PLAYER}`,
      'a page of penalties': (number) => `/penalties?page=${2 + (number % 1000)}`,
      'a sound': () => `/storage/roundsound/${PLAYER}.mp3`,
      'an account page': (number) => memberOf(number).get('/account'),
      'a form': (number) =>
        memberOf(number).post('/account/discord/visibility', { hidden: number % 2 ? 'yes' : 'no' }),
      'a sign-in': (number) => signInFrom(openBrowser(origin), `10.1.${number >> 8}.${number & 255}`),
      'GET /penalties/{id}': (number) => `/api/v1/penalties/${1 + number}`,
      'GET /penalties/changes': () => '/api/v1/penalties/changes',
    };
    const watchFor = (ms: number) =>
      watchRequests({ origin, headers: other, requests, everyMs: 25 }, () => Bun.sleep(ms));

    options.say('nobody else');
    await watchFor(QUIET_MS / 4);
    const quiet = await watchFor(QUIET_MS);
    options.say(`${IN_FLIGHT} lists in flight`);
    const load = { seconds: BUSY_MS / 1000 + 2, connections: IN_FLIGHT, headers, mayBeRefused: true };
    const loading = runWrk(origin + DEAREST_LIST, load);
    const besideOne = await watchFor(BUSY_MS);
    const { requests: lists, refused } = await loading;
    options.say(`a list a second of ${OWNERS}`);
    let asked = '';
    const besideMany = await watchRequests({ origin, headers: other, requests, everyMs: 25 }, async () => {
      asked = await askEverySecond(origin, database.db);
    });
    return [
      ...rowsOf('one', { quiet, busy: besideOne }, `${lists} lists for the one, ${refused} of them 503`),
      ...rowsOf('six', { quiet, busy: besideMany }, asked),
    ];
  },
};

/** Signs in at Steam, from an address whose limit nobody else uses up. @returns how long the return from there took. */
async function signInFrom(browser: Browser, address: string): Promise<{ status: number; waitMs: number }> {
  const forwarded = { 'x-forwarded-for': address };
  const start = await browser.get('/account/sign-in', forwarded);
  const steam = await browser.follow(start);
  const returnedMs = performance.now();
  const { status } = await browser.get(steam.location, forwarded);
  return { status, waitMs: performance.now() - returnedMs };
}

/** Each owner sends a list a second, whether or not the one before has a response. @returns how many were refused. */
async function askEverySecond(origin: string, db: Parameters<typeof createTokenHeaders>[0]): Promise<string> {
  const owners = await Promise.all(
    Array.from({ length: OWNERS }, (_, number) => createTokenHeaders(db, 2000 + number)),
  );
  const asked: Promise<number>[] = [];
  for (let second = 0; second < BUSY_MS / 1000; second++) {
    for (const headers of owners)
      asked.push(fetch(origin + DEAREST_LIST, { headers }).then(({ status }) => status));
    await Bun.sleep(1000);
  }
  const statuses = await Promise.all(asked);
  const refused = statuses.filter((status) => status === 503).length;
  return `${statuses.length} lists, ${refused} of them 503`;
}

function rowsOf(beside: string, { quiet, busy }: { quiet: Watches; busy: Watches }, lists: string): Row[] {
  const failed = Object.entries(busy).filter(([, { failures }]) => failures > 0);
  const failures = failed.map(([kind, watch]) => `${kind}: ${watch.failures}`).join(', ');
  const waitsOf = (watches: Watches, kind: string, share: number) =>
    percentile(watches[kind]?.waitsMs ?? [], share);
  const p99 = (kind: string, atMost: number) =>
    limitFigure(`${beside}: ${kind}, p99`, waitsOf(busy, kind, 0.99), {
      atMost,
      floor: `alone: ${waitsOf(quiet, kind, 0.99).toFixed(1)} ms`,
    });
  return [
    limitFigure(
      `${beside}: requests of others that were refused`,
      failed.reduce((sum, [, watch]) => sum + watch.failures, 0),
      { atMost: 0, floor: failures || lists, format: String },
    ),
    ...COMPARED.map((kind) => {
      const waits = { ours: waitsOf(busy, kind, 0.5), floor: waitsOf(quiet, kind, 0.5) };
      return compare(`${beside}: ${kind}`, waits, { name: 'alone', atMost: 3 });
    }),
    p99(LOOKUP, 150),
    ...PROMPT.map((kind) => p99(kind, 300)),
  ];
}
