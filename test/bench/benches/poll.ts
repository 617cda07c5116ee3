import pino from 'pino';
import type { Connection } from '../../../src/db/client.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { openLeaders } from '../../../src/db/leader.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { servers } from '../../../src/db/schema/servers.ts';
import { createServerList } from '../../../src/live/server-list.ts';
import { createPoller } from '../../../src/poll/poller.ts';
import { waitFor } from '../../support/wait.ts';
import { type Bench, limitFigure } from '../bench.ts';
import { startGameServers } from '../support/game-servers.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

const SERVERS = 1000;

/** The poller as the service runs it, on a new database: from its start to the last snapshot written. */
export const poll: Bench = {
  name: 'poll',
  title: 'a thousand game servers, simulated by another process, polled at once',
  run: async () => {
    using games = await startGameServers(SERVERS);
    await using postgres = await startTemporaryPostgres('poll');
    await migrateDatabase(postgres.url);
    await using stack = new AsyncDisposableStack();
    const { db, connection, close } = openDatabase(postgres.url);
    stack.defer(() => close({ timeoutSeconds: 1 }));
    const rows = games.addresses.map((address, n) => ({ slug: `bench-${n}`, name: `Bench ${n}`, address }));
    await db.insert(servers).values(rows);
    const log = pino({ level: 'silent' });
    const leaders = openLeaders(postgres.url, { log });
    const list = await createServerList(db, log);
    stack.defer(list.stop);
    const poller = createPoller({ db, servers: list, leaders, log, intervalSeconds: 15 });
    stack.defer(poller.stop);
    const stopWatching = watchEventLoop();
    const startedAt = performance.now();
    poller.start();
    await waitFor(async () => (await countSnapshots(connection)) === SERVERS, { everyMs: 20 });
    const tookMs = performance.now() - startedAt;
    const hold = limitFigure('… longest block of the event loop', stopWatching(), { atMost: 20 });
    return [
      limitFigure('polling 1,000 servers and storing the results', tookMs, { atMost: 1500 }),
      { ...hold, note: 'processor time of the whole process between two turns of the event loop' },
    ];
  },
};

async function countSnapshots(connection: Connection): Promise<number> {
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
