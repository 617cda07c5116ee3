import { watchMemory } from '../../support/machine/processes.ts';
import { type Bench, compare, formatMb, limitFigure, percentile } from '../bench.ts';
import type { Child } from '../support/child.ts';
import { startDatasetService } from '../support/service.ts';
import { watchRequests } from '../support/watch-requests.ts';

const EVERY_MS = 20;
const QUIET_MS = 15_000;

export const exportBench: Bench = {
  name: 'export',
  title: 'all penalties over HTTP, while other clients request a list',
  run: async (options) => {
    await using service = await startDatasetService(options);
    const { origin, pid, headers } = service;
    const watchFor = async (work: () => Promise<unknown>) => {
      let heldMb: number[] = [];
      const requests = { list: () => '/api/v1/penalties?server_id=3' };
      const { list } = await watchRequests({ origin, headers, requests, everyMs: EVERY_MS }, async () => {
        heldMb = await watchMemory(pid, EVERY_MS, work);
      });
      return { heldMb, p99Ms: percentile(list?.waitsMs ?? [], 0.99) };
    };
    options.say('without an export');
    const quiet = await watchFor(() => Bun.sleep(QUIET_MS));
    options.say('an export');
    let rows = 0;
    const startedAt = performance.now();
    const busy = await watchFor(async () => {
      rows = await readExport(service, headers);
    });
    const seconds = (performance.now() - startedAt) / 1000;
    const early = Math.ceil(busy.heldMb.length / 10);
    const earlyMb = Math.max(...busy.heldMb.slice(0, early));
    return [
      limitFigure(`export of ${rows} penalties`, rows / seconds, {
        atLeast: 50_000,
        ratio: `${seconds.toFixed(1)} s`,
        format: (count) => `${Math.round(count)} a second`,
      }),
      limitFigure('… growth of memory', Math.max(...busy.heldMb.slice(early)) - earlyMb, {
        atMost: 20,
        floor: `${formatMb(earlyMb)} in its first tenth; before it, ${formatMb(Math.max(...quiet.heldMb))}`,
        format: formatMb,
      }),
      compare(
        '… a page of penalties meanwhile, p99',
        { ours: busy.p99Ms, floor: quiet.p99Ms },
        { name: 'without it', atMost: 2 },
      ),
    ];
  },
};

/** Reads in a separate process, so that reading does not add to the waits of others. @returns the count. */
async function readExport({ origin }: Child, { Authorization }: { Authorization: string }): Promise<number> {
  const command = `curl -sN -H 'Authorization: ${Authorization}' ${origin}/api/v1/penalties/export | tail -n 1`;
  const reader = Bun.spawn(['sh', '-c', command], { stdout: 'pipe' });
  const end: { end: boolean; count: number } = JSON.parse(await reader.stdout.text());
  if (!end.end) throw new Error(`the export is incomplete: ${JSON.stringify(end)}`);
  return end.count;
}
