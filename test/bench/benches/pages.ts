import { readProcessorMs } from '../../support/machine/processes.ts';
import { type Bench, limitFigure, type Row, requireTool } from '../bench.ts';
import { PLAYER, startService } from '../support/service.ts';
import { runWrk } from '../support/wrk.ts';

const LIMITS_MS = { '/': 3, '/servers/s9': 8, '/penalties': 3, [`/penalties?q=${PLAYER}`]: 3 };
const LOAD = { seconds: 10, connections: 8, headers: { 'Accept-Encoding': 'gzip' } };

/** Processor time of the service for a page that no cache holds. */
export const pages: Bench = {
  name: 'pages',
  title: 'processor time of HTML pages',
  run: async ({ say }) => {
    requireTool('wrk');
    await using service = await startService('pages', { env: { PUBLIC_PENALTIES: '1' } });
    const rows: Row[] = [];
    for (const [page, atMost] of Object.entries(LIMITS_MS)) {
      say(page);
      const before = await readProcessorMs(service.pid);
      const { requests } = await runWrk(service.origin + page, LOAD);
      const eachMs = ((await readProcessorMs(service.pid)) - before) / requests;
      rows.push(limitFigure(page, eachMs, { atMost }));
    }
    return rows;
  },
};
