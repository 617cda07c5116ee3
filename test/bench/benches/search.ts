import { searchPlayers } from '../../../src/queries/player-search.ts';
import { type Bench, compare, formatMs, limitFigure, median, percentile, type Row } from '../bench.ts';
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
    for (const [what, text] of Object.entries(TEXTS)) {
      rows.push(...(await measureText(`${what} (${text})`, text, { small, large })));
    }
    return rows;
  },
};

async function measureText(
  what: string,
  text: string,
  { small, large }: { small: Watched; large: Watched },
): Promise<Row[]> {
  const calls = await timeCalls(large, text);
  const medians = { ours: median(calls), floor: median(await timeCalls(small, text)) };
  return [
    limitFigure(
      `${what}: p99`,
      { value: percentile(calls, 0.99), floor: `median ${formatMs(medians.ours)}` },
      { atMost: 50 },
    ),
    compare(`${what}: growth`, { ...medians, name: 'ten thousand rows' }, { atMost: 3 }),
  ];
}

async function timeCalls({ db, readCpuMs }: Watched, text: string): Promise<number[]> {
  const calls: number[] = [];
  for (let number = -WARM_UP_CALLS; number < CALLS; number++) {
    const before = readCpuMs();
    await searchPlayers(db, text, { limit: 25, now: DATASET_END });
    if (number >= 0) calls.push(readCpuMs() - before);
  }
  return calls;
}
