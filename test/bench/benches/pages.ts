import { type Bench, limitFigure, type Row, requireTool } from '../bench.ts';
import { PLAYER, startService } from '../support/service.ts';
import { loadServer } from '../support/wrk.ts';

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
      const { processorMs } = await loadServer(service, page, LOAD);
      rows.push(limitFigure(page, processorMs, { atMost }));
    }
    return rows;
  },
};
