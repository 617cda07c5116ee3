import { join } from 'node:path';
import { aSteamId } from '../../support/database/builders.ts';
import { type Bench, compare, limitFigure, median, percentile, type Row, requireTool } from '../bench.ts';
import { open } from '../support/database-time.ts';
import { startDatasetService } from '../support/dataset-service.ts';
import { createOwnerToken } from '../support/service.ts';
import { createTemporaryFolder } from '../support/temporary-postgres.ts';

const QUIET_MS = 20_000;
const BUSY_MS = 60_000;
const EVERY_MS = 25;
const IN_FLIGHT = 60;
/** Contained in no reason, and sorted by a column that the filter has no index with. */
const DEAREST_LIST = '/api/v1/penalties?reason=zz11&sort=ends';
/** As long as a short mp3. */
const SOUND_BYTES = 80_000;

/** How long each kind of request took, and which were not 200. */
type Watch = { waitsMs: Map<string, number[]>; failures: Map<string, number> };

export const fairness: Bench = {
  name: 'fairness',
  title: `one owner keeps ${IN_FLIGHT} of the dearest lists in flight for a minute, compared with nobody`,
  run: async (options) => {
    requireTool('wrk');
    await using storage = await createTemporaryFolder('fairness');
    await Bun.write(join(storage.path, 'roundsound', `${aSteamId(1)}.mp3`), new Uint8Array(SOUND_BYTES));
    const env = { STORAGE_DIR: storage.path, PUBLIC_PENALTIES: '1' };
    await using service = await startDatasetService(options, env);
    const { child, headers, databaseUrl } = service;
    await using database = await open(databaseUrl);
    const other = { Authorization: `Bearer ${await createOwnerToken(database.db, 901)}` };
    const watchFor = (ms: number) => watchOthers(child.origin, other, ms);
    options.say('nobody else');
    await watchFor(QUIET_MS / 4);
    const quiet = await watchFor(QUIET_MS);
    options.say(`${IN_FLIGHT} lists in flight`);
    const load = ['-t1', `-c${IN_FLIGHT}`, `-d${BUSY_MS / 1000 + 2}s`, '--timeout', '10s'];
    const token = ['-H', `Authorization: ${headers.Authorization}`];
    const wrk = Bun.spawn([requireTool('wrk'), ...load, ...token, child.origin + DEAREST_LIST], {
      stdout: 'pipe',
    });
    const busy = await watchFor(BUSY_MS);
    return toRows({ quiet, busy, asked: await new Response(wrk.stdout).text(), log: child.log() });
  },
};

/** Asks for one of each in turn, for as long as it is told. */
async function watchOthers(origin: string, headers: Record<string, string>, ms: number): Promise<Watch> {
  const watch: Watch = { waitsMs: new Map(), failures: new Map() };
  const untilMs = performance.now() + ms;
  for (let number = 0; performance.now() < untilMs; number++) {
    const requests = {
      '/readyz': '/readyz',
      'GET /servers': '/api/v1/servers',
      "another owner's GET /users/lookup": `/api/v1/users/lookup?steamid64=${aSteamId(901)}`,
      'a page of penalties': `/penalties?page=${2 + (number % 1000)}`,
      'a sound': `/storage/roundsound/${aSteamId(1)}.mp3`,
    };
    for (const [what, path] of Object.entries(requests)) {
      const startedMs = performance.now();
      const response = await fetch(origin + path, { headers });
      await response.arrayBuffer();
      watch.waitsMs.getOrInsertComputed(what, () => []).push(performance.now() - startedMs);
      if (!response.ok) watch.failures.set(what, (watch.failures.get(what) ?? 0) + 1);
    }
    await Bun.sleep(EVERY_MS);
  }
  return watch;
}

/** `asked` is what wrk printed. */
type Figures = { quiet: Watch; busy: Watch; asked: string; log: string };

function toRows({ quiet, busy, asked, log }: Figures): Row[] {
  const figures = (what: string) => {
    const [calm, loaded] = [quiet, busy].map(({ waitsMs }) => waitsMs.get(what) ?? []);
    return { calm: calm ?? [], loaded: loaded ?? [] };
  };
  const [, lists = '0'] = /(\d+) requests in/.exec(asked) ?? [];
  const [, refused = '0'] = /Non-2xx or 3xx responses: (\d+)/.exec(asked) ?? [];
  const failures = [...busy.failures].map(([what, count]) => `${what}: ${count}`).join(', ');
  const lookup = "another owner's GET /users/lookup";
  return [
    limitFigure(
      'requests of others, /readyz among them, that were not 200',
      {
        value: [...busy.failures.values()].reduce((sum, count) => sum + count, 0),
        floor: failures || `${lists} lists for the one, ${refused} of them 503`,
        format: String,
      },
      { atMost: 0 },
    ),
    ...['GET /servers', 'a page of penalties', 'a sound'].map((what) => {
      const { calm, loaded } = figures(what);
      return compare(what, { ours: median(loaded), floor: median(calm), name: 'alone' }, { atMost: 3 });
    }),
    limitFigure(
      `${lookup}: p99`,
      {
        value: percentile(figures(lookup).loaded, 0.99),
        floor: `alone: ${percentile(figures(lookup).calm, 0.99).toFixed(1)} ms`,
      },
      { atMost: 150 },
    ),
    limitFigure(
      'lines of the log that name what is slow',
      { value: log.split('\n').filter((line) => line.includes('"slow"')).length, format: String },
      { atLeast: Number(refused) > 0 ? 1 : 0 },
    ),
  ];
}
