import { searchPlayers } from '../../../src/queries/player-search.ts';
import {
  type Bench,
  compare,
  formatMs,
  limitFigure,
  median,
  percentile,
  type Row,
  repeat,
} from '../bench.ts';
import { type Watched, watch } from '../support/database-time.ts';
import { DATASET_END, openDatasets } from '../support/penalty-dataset.ts';

const CALLS = 120;
const WARM_UP_CALLS = 10;

/** The dataset's players are called `Gracz 1` and so on. */
const TEXTS = {
  'every name': 'GRACZ',
  'many names': 'gracz 12',
  'a few hundred names': 'z 1234',
  'one name, all of it': 'Gracz 31415',
  'no name, though each part of it is common': 'czz 1',
};

/** Database time as for the lists: what the server process spent on a core. */
export const search: Bench = {
  name: 'search',
  title: 'players by part of a name, compared with ten thousand rows',
  run: async (options) => {
    await using datasets = await openDatasets(options);
    await using small = await watch(datasets.small);
    await using large = await watch(datasets.large);
    const rows: Row[] = [];
    for (const [kind, text] of Object.entries(TEXTS)) {
      const what = `${kind} (${text})`;
      const calls = await timeCalls(large, text);
      const medians = { ours: median(calls), floor: median(await timeCalls(small, text)) };
      rows.push(
        limitFigure(`${what}: p99`, percentile(calls, 0.99), {
          atMost: 50,
          floor: `median ${formatMs(medians.ours)}`,
        }),
        compare(`${what}: growth`, medians, { name: 'ten thousand rows', atMost: 3 }),
      );
    }
    return rows;
  },
};

async function timeCalls({ db, measureMs }: Watched, text: string): Promise<number[]> {
  const find = () => searchPlayers(db, text, { limit: 25, now: DATASET_END });
  await repeat(WARM_UP_CALLS, find);
  return repeat(CALLS, () => measureMs(find));
}
