import { migrateDatabase } from '../../../src/db/migrate.ts';
import { createHistoryReader, HISTORY_HOURS } from '../../../src/live/server-history.ts';
import { downsampleHistory } from '../../../src/queries/servers/samples.ts';
import { insertServerWithHistory } from '../../support/database/server-history.ts';
import { type Bench, limitFigure, median, percentile, type Row, repeat } from '../bench.ts';
import { watch } from '../support/database-time.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

const CALLS = 100;
const SERVERS = 3;

/** Every span that a client can ask for, each read from the database. */
export const history: Bench = {
  name: 'history',
  title: 'player counts of a server with a past of one year',
  run: async ({ say }) => {
    await using postgres = await startTemporaryPostgres('history');
    await migrateDatabase(postgres.url);
    await using database = await watch(postgres.url);
    const { db, connection, measureMs } = database;
    const now = new Date();
    say(`a year of ${SERVERS} servers`);
    const servers = await repeat(SERVERS, () => insertServerWithHistory(db, { now, days: 364 }));
    await downsampleHistory(db);
    await connection`vacuum analyze`;
    const rows: Row[] = [];
    let dayMs: number | undefined;
    for (const hours of HISTORY_HOURS) {
      const calls = await repeat(CALLS, (call) => {
        // A new reader has an empty cache.
        const read = createHistoryReader(db, { now: () => now, clockMs: () => 0 });
        return measureMs(() => read(servers[call % SERVERS]?.id ?? 0, hours));
      });
      const medianMs = median(calls);
      dayMs ??= medianMs;
      rows.push(
        limitFigure(`${hours} hours: database time, p99`, percentile(calls, 0.99), {
          atMost: 20,
          floor: `median ${medianMs.toFixed(2)} ms`,
          ratio: `${(medianMs / dayMs).toFixed(1)}× of a day`,
        }),
      );
    }
    return rows;
  },
};
