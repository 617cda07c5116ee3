import { migrateDatabase } from '../../../src/db/migrate.ts';
import { createHistoryReader, HISTORY_HOURS } from '../../../src/live/server-history.ts';
import { downsampleHistory } from '../../../src/queries/servers/samples.ts';
import { insertServerWithHistory } from '../../support/database/server-history.ts';
import { type Bench, limitFigure, median, percentile } from '../bench.ts';
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
    const now = new Date();
    say(`a year of ${SERVERS} servers`);
    const ids: number[] = [];
    for (let number = 0; number < SERVERS; number++) {
      ids.push((await insertServerWithHistory(database.db, { now, days: 364 })).id);
    }
    await downsampleHistory(database.db);
    await database.connection`vacuum analyze`;
    const { db, readCpuMs } = database;
    const readFor = async (hours: (typeof HISTORY_HOURS)[number], call: number) => {
      // A new reader has an empty cache.
      const read = createHistoryReader(db, { now: () => now, clockMs: () => 0 });
      const before = readCpuMs();
      await read(ids[call % ids.length] ?? 0, hours);
      return readCpuMs() - before;
    };
    const rows = [];
    for (const hours of HISTORY_HOURS) {
      const calls: number[] = [];
      for (let call = 0; call < CALLS; call++) calls.push(await readFor(hours, call));
      rows.push({ hours, medianMs: median(calls), p99Ms: percentile(calls, 0.99) });
    }
    const day = rows[0]?.medianMs ?? Number.NaN;
    return rows.map(({ hours, medianMs, p99Ms }) =>
      limitFigure(
        `${hours} hours: database time, p99`,
        {
          value: p99Ms,
          floor: `median ${medianMs.toFixed(2)} ms`,
          ratio: `${(medianMs / day).toFixed(1)}× of a day`,
        },
        { atMost: 20 },
      ),
    );
  },
};
