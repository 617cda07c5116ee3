import { join } from 'node:path';
import { type Bench, compare, limitFigure, percentile, requireTool } from '../bench.ts';
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
/** As long as a short mp3. */
const SOUND_BYTES = 80_000;
const LOOKUP = "another owner's GET /users/lookup";
const COMPARED = ['GET /servers', 'a page of penalties', 'a sound'];
const REQUESTS: Record<string, (number: number) => string> = {
  '/readyz': () => '/readyz',
  'GET /servers': () => '/api/v1/servers',
  [LOOKUP]: () => `/api/v1/users/lookup?steamid64=${PLAYER}`,
  'a page of penalties': (number) => `/penalties?page=${2 + (number % 1000)}`,
  'a sound': () => `/storage/roundsound/${PLAYER}.mp3`,
};

export const fairness: Bench = {
  name: 'fairness',
  title: `one owner keeps ${IN_FLIGHT} of the dearest lists in flight for a minute, compared with nobody`,
  run: async (options) => {
    requireTool('wrk');
    await using storage = await createTemporaryFolder('fairness');
    await Bun.write(join(storage.path, 'roundsound', `${PLAYER}.mp3`), new Uint8Array(SOUND_BYTES));
    const env = { STORAGE_DIR: storage.path, PUBLIC_PENALTIES: '1' };
    await using service = await startDatasetService(options, env);
    const { origin, headers, databaseUrl } = service;
    await using database = await open(databaseUrl);
    const other = await createTokenHeaders(database.db, 1);
    const watchFor = (ms: number) =>
      watchRequests({ origin, headers: other, requests: REQUESTS, everyMs: 25 }, () => Bun.sleep(ms));
    options.say('nobody else');
    await watchFor(QUIET_MS / 4);
    const quiet = await watchFor(QUIET_MS);
    options.say(`${IN_FLIGHT} lists in flight`);
    const load = { seconds: BUSY_MS / 1000 + 2, connections: IN_FLIGHT, headers, mayBeRefused: true };
    const loading = runWrk(origin + DEAREST_LIST, load);
    const busy = await watchFor(BUSY_MS);
    const { requests: lists, refused } = await loading;
    const failed = Object.entries(busy).filter(([, { failures }]) => failures > 0);
    const failures = failed.map(([kind, watch]) => `${kind}: ${watch.failures}`).join(', ');
    const waitsOf = (kind: string, share: number) => ({
      ours: percentile(busy[kind]?.waitsMs ?? [], share),
      floor: percentile(quiet[kind]?.waitsMs ?? [], share),
    });
    const lookup = waitsOf(LOOKUP, 0.99);
    return [
      limitFigure(
        'requests of others, /readyz among them, that were not 200',
        failed.reduce((sum, [, watch]) => sum + watch.failures, 0),
        {
          atMost: 0,
          floor: failures || `${lists} lists for the one, ${refused} of them 503`,
          format: String,
        },
      ),
      ...COMPARED.map((kind) => compare(kind, waitsOf(kind, 0.5), { name: 'alone', atMost: 3 })),
      limitFigure(`${LOOKUP}: p99`, lookup.ours, {
        atMost: 150,
        floor: `alone: ${lookup.floor.toFixed(1)} ms`,
      }),
    ];
  },
};
