import { type Bench, compare, limitFigure, percentile, type Row } from '../bench.ts';
import { type Child, readResidentMb } from '../support/child.ts';
import { startDatasetService, type TokenHeaders } from '../support/dataset-service.ts';

const FEWEST_PER_SECOND = 50_000;
const MAX_GROWTH_MB = 20;
const LOAD_EVERY_MS = 20;
const QUIET_MS = 15_000;

/** What the process held, sample by sample, and how long others waited. */
type Watch = { heldMb: number[]; waitsMs: number[] };

export const exportBench: Bench = {
  name: 'export',
  title: 'all penalties over HTTP, while other clients request a list',
  run: async (options) => {
    await using service = await startDatasetService(options);
    const { child, headers } = service;
    options.say('without an export');
    const quiet = await watchOthers(child, headers, () => Bun.sleep(QUIET_MS));
    options.say('an export');
    let rows = 0;
    const startedAt = performance.now();
    const busy = await watchOthers(child, headers, async () => {
      rows = await readExport(child, headers);
    });
    return toRows({ rows, seconds: (performance.now() - startedAt) / 1000, quiet, busy });
  },
};

/** Asks for a page of penalties fifty times a second while work goes on. */
async function watchOthers(
  child: Child,
  headers: TokenHeaders,
  work: () => Promise<unknown>,
): Promise<Watch> {
  const watch: Watch = { heldMb: [], waitsMs: [] };
  let isOver = false;
  const others = async () => {
    while (!isOver) {
      const startedAt = performance.now();
      await (await fetch(`${child.origin}/api/v1/penalties?server_id=3`, { headers })).arrayBuffer();
      watch.waitsMs.push(performance.now() - startedAt);
      watch.heldMb.push(await readResidentMb(child.pid));
      await Bun.sleep(LOAD_EVERY_MS);
    }
  };
  const asking = others();
  await work();
  isOver = true;
  await asking;
  return watch;
}

/** Reads in a separate process, so that reading does not add to the waits of others. @returns the count. */
async function readExport(child: Child, { Authorization }: TokenHeaders): Promise<number> {
  const command = `curl -sN -H 'Authorization: ${Authorization}' ${child.origin}/api/v1/penalties/export | tail -n 1`;
  const reader = Bun.spawn(['sh', '-c', command], { stdout: 'pipe' });
  const end: { end: boolean; count: number } = JSON.parse(await reader.stdout.text());
  if (!end.end) throw new Error(`the export is incomplete: ${JSON.stringify(end)}`);
  return end.count;
}

type Figures = { rows: number; seconds: number; quiet: Watch; busy: Watch };

function toRows({ rows, seconds, quiet, busy }: Figures): Row[] {
  const perSecond = rows / seconds;
  const early = Math.ceil(busy.heldMb.length / 10);
  const earlyMb = Math.max(...busy.heldMb.slice(0, early));
  const peakMb = Math.max(...busy.heldMb.slice(early));
  return [
    limitFigure(
      `export of ${rows} penalties`,
      {
        value: perSecond,
        ratio: `${seconds.toFixed(1)} s`,
        format: (count) => `${Math.round(count)} a second`,
      },
      { atLeast: FEWEST_PER_SECOND },
    ),
    limitFigure(
      '… growth of memory',
      {
        value: peakMb - earlyMb,
        floor: `${earlyMb.toFixed(0)} MB in its first tenth; before it, ${Math.max(...quiet.heldMb).toFixed(0)} MB`,
        format: (mb) => `${mb.toFixed(0)} MB`,
      },
      { atMost: MAX_GROWTH_MB },
    ),
    compare(
      '… a page of penalties meanwhile, p99',
      { ours: percentile(busy.waitsMs, 0.99), floor: percentile(quiet.waitsMs, 0.99), name: 'without it' },
      { atMost: 2 },
    ),
  ];
}
