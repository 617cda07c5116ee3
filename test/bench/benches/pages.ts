import { type Bench, limitFigure, type Row, requireTool } from '../bench.ts';
import { readProcessorMs, startChild } from '../support/child.ts';
import { fillDatabase, START_COMMAND, serviceEnv } from '../support/service.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';
import { runWrk } from '../support/wrk.ts';

const SECONDS = 10;
const CONNECTIONS = 8;

/** Processor time of the service for a page that no cache holds. */
export const pages: Bench = {
  name: 'pages',
  title: 'processor time of HTML pages',
  run: async ({ say }) => {
    requireTool('wrk');
    await using postgres = await startTemporaryPostgres('pages');
    const { player } = await fillDatabase(postgres.url);
    await using service = await startChild(START_COMMAND, {
      ...serviceEnv(postgres.url, postgres.folder),
      PUBLIC_PENALTIES: '1',
    });
    const limitsMs = { '/': 3, '/servers/s9': 8, '/penalties': 3, [`/penalties?q=${player}`]: 3 };
    const rows: Row[] = [];
    for (const [page, atMost] of Object.entries(limitsMs)) {
      say(page);
      const before = await readProcessorMs(service.pid);
      const { requests } = await runWrk(service.origin + page, {
        seconds: SECONDS,
        connections: CONNECTIONS,
        headers: { 'Accept-Encoding': 'gzip' },
      });
      rows.push(
        limitFigure(page, { value: ((await readProcessorMs(service.pid)) - before) / requests }, { atMost }),
      );
    }
    return rows;
  },
};
