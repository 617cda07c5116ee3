import { openDatabase } from '../../../src/db/database.ts';
import { type SearchScope, searchPlayers } from '../../../src/queries/player-search.ts';
import { type Bench, formatMs, median, percentile, type Row } from '../bench.ts';
import { type Watched, watch } from '../support/database-time.ts';
import { DATASET_END, prepareDataset, startDatasetServer } from '../support/penalty-dataset.ts';

const CALLS = 120;
const WARM_UP_CALLS = 10;
const LIMIT_MS = 50;

/** The dataset's players are called `Gracz 1` and so on. */
const TEXTS: Record<string, string> = {
  'every name': 'GRACZ',
  'many names': 'gracz 12',
  'a few hundred names': 'z 1234',
  'one name, all of it': 'Gracz 31415',
  'few names, by its end': '31415',
  'no name, though each part of it is common': 'czz 1',
  'no name': '*** nobody ***',
};

const SCOPES = ['all', 'penaltyNames', 'withoutAccount'] as const satisfies readonly SearchScope[];
const WHERE: Readonly<Record<SearchScope, string>> = {
  all: '',
  penaltyNames: ', among names in penalties',
  withoutAccount: ', among players without an account',
};

/** Database time as for the lists: what the server process spent on a core. */
export const search: Bench = {
  name: 'search',
  title: 'players by part of a name',
  run: async (options) => {
    const server = await startDatasetServer();
    try {
      const database = openDatabase(await prepareDataset(server, options), { max: 1 });
      try {
        const watched = await watch(database);
        const rows: Row[] = [];
        for (const scope of SCOPES) {
          for (const text of Object.entries(TEXTS)) rows.push(await measure(watched, text, scope));
        }
        return rows;
      } finally {
        await database.close();
      }
    } finally {
      await server.stop();
    }
  },
};

async function measure(
  { db, readCpuMs }: Watched,
  [what, text]: [string, string],
  scope: SearchScope,
): Promise<Row> {
  const calls: number[] = [];
  let found = 0;
  for (let call = -WARM_UP_CALLS; call < CALLS; call++) {
    const before = readCpuMs();
    found = (await searchPlayers(db, text, { limit: 25, now: DATASET_END, scope })).length;
    if (call >= 0) calls.push(readCpuMs() - before);
  }
  const p99 = percentile(calls, 0.99);
  return {
    what: `${what}: ${JSON.stringify(text)}${WHERE[scope]}`,
    ours: `p99 ${formatMs(p99)}`,
    floor: `p50 ${formatMs(median(calls))}, ${found} found`,
    ratio: '',
    target: `p99 ≤ ${LIMIT_MS} ms`,
    isReached: p99 <= LIMIT_MS,
  };
}
