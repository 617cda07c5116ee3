import { type Bench, compare, type Row, requireTool } from '../bench.ts';
import { readProcessorMs, startChild } from '../support/child.ts';
import { fillDatabase, START_COMMAND, serviceEnv } from '../support/service.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';
import { runWrk } from '../support/wrk.ts';

const ROUNDS = 5;
const SECONDS = 2;

/** Processor time of the service for a page, and for the JSON with the same content. */
export const pages: Bench = {
  name: 'pages',
  title: 'processor time of HTML pages, compared with their JSON',
  run: async ({ say }) => {
    requireTool('wrk');
    await using postgres = await startTemporaryPostgres('pages');
    const { token, player } = await fillDatabase(postgres.url);
    const service = await startChild(START_COMMAND, {
      ...serviceEnv(postgres.url, postgres.folder),
      PUBLIC_PENALTIES: '1',
    });
    const headers = { Authorization: `Bearer ${token}`, 'Accept-Encoding': 'gzip' };
    const processorMsOf = async (path: string) => {
      const before = await readProcessorMs(service.pid);
      const { requests } = await runWrk(service.origin + path, { seconds: SECONDS, connections: 8, headers });
      return { requests, ms: (await readProcessorMs(service.pid)) - before };
    };
    const pairs = {
      '/': '/api/v1/servers',
      '/servers/s9': '/api/v1/servers/s9',
      '/penalties': '/api/v1/penalties?per_page=25',
      [`/penalties?q=${player}`]: `/api/v1/penalties?steamid=${player}&per_page=25`,
    };
    try {
      const rows: Row[] = [];
      for (const [page, json] of Object.entries(pairs)) {
        say(page);
        const sums = { ours: { requests: 0, ms: 0 }, floor: { requests: 0, ms: 0 } };
        for (let round = 0; round < ROUNDS; round++) {
          for (const [side, path] of [
            ['ours', page],
            ['floor', json],
          ] as const) {
            const { requests, ms } = await processorMsOf(path);
            sums[side].requests += requests;
            sums[side].ms += ms;
          }
        }
        const [ours, floor] = [sums.ours, sums.floor].map(({ requests, ms }) => ms / requests);
        rows.push(
          compare(page, { ours: ours ?? 0, floor: floor ?? 0, name: json, format: formatUs }, { atMost: 2 }),
        );
      }
      return rows;
    } finally {
      await service.stop();
    }
  },
};

function formatUs(ms: number): string {
  return `${Math.round(ms * 1000)} µs`;
}
