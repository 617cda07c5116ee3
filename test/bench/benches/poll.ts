import pino from 'pino';
import { type Database, openDatabase } from '../../../src/db/database.ts';
import { openLeaders } from '../../../src/db/leader.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { servers } from '../../../src/db/schema/servers.ts';
import { createServerList } from '../../../src/live/server-list.ts';
import { createPoller } from '../../../src/poll/poller.ts';
import { waitFor } from '../../support/wait.ts';
import { type Bench, limitFigure, type Row } from '../bench.ts';
import { startGameServers } from '../support/game-servers.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

const SERVERS = 1000;

export const poll: Bench = {
  name: 'poll',
  title: 'a thousand game servers, simulated by another process, polled at once',
  run: async () => {
    using games = await startGameServers(SERVERS);
    return await measurePoller(games.addresses);
  },
};

/** The poller as the service runs it, on a new database: from its start to the last snapshot written. */
async function measurePoller(addresses: string[]): Promise<Row[]> {
  const log = pino({ level: 'silent' });
  await using postgres = await startTemporaryPostgres('poll');
  const database = openDatabase(postgres.url);
  try {
    await migrateDatabase(postgres.url);
    const rows = addresses.map((address, n) => ({ slug: `bench-${n}`, name: `Bench ${n}`, address }));
    await database.db.insert(servers).values(rows);
    const leaders = openLeaders(postgres.url, { log });
    const list = await createServerList(database.db, log);
    const poller = createPoller({ db: database.db, servers: list, leaders, log, intervalSeconds: 15 });
    const stopWatching = watchEventLoop();
    const startedAt = performance.now();
    poller.start();
    await waitFor(async () => (await countSnapshots(database)) === addresses.length, { everyMs: 20 });
    const tookMs = performance.now() - startedAt;
    const maxHoldMs = stopWatching();
    await poller.stop();
    list.stop();
    const hold = limitFigure('… longest block of the event loop', maxHoldMs, { atMost: 20 });
    return [
      limitFigure('polling 1,000 servers and storing the results', tookMs, { atMost: 1500 }),
      { ...hold, note: 'processor time of the whole process between two turns of the event loop' },
    ];
  } finally {
    await database.close({ timeoutSeconds: 1 });
  }
}

async function countSnapshots({ connection }: Database): Promise<number> {
  const [row] = await connection`select count(*)::int as count from server_snapshots where is_online`;
  return Number(row?.count ?? 0);
}

/**
 * Measures the longest stretch between two turns of the event loop, by the processor time this process used in it:
 * on a busy machine the wall clock would show how long others were let run.
 */
function watchEventLoop(): () => number {
  let maxMs = 0;
  let last = process.cpuUsage();
  let isWatching = true;
  const look = () => {
    const { user, system } = process.cpuUsage(last);
    maxMs = Math.max(maxMs, (user + system) / 1000);
    last = process.cpuUsage();
    if (isWatching) setImmediate(look);
  };
  setImmediate(look);
  return () => {
    isWatching = false;
    return maxMs;
  };
}
