import { createSocket } from 'node:dgram';
import pino from 'pino';
import { type Database, openDatabase } from '../../../src/db/database.ts';
import { openLeaders } from '../../../src/db/leader.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { servers } from '../../../src/db/schema/servers.ts';
import { parseServerAddress } from '../../../src/domain/server-address.ts';
import { createServerList } from '../../../src/live/server-list.ts';
import { queryGameServer } from '../../../src/poll/game-server.ts';
import { createPollSchedule } from '../../../src/poll/poll-schedule.ts';
import { createPoller } from '../../../src/poll/poller.ts';
import { type Bench, compare, limitFigure, measureSideBySide, type Row } from '../bench.ts';
import { startGameServers } from '../support/game-servers.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

const SERVERS = 1000;
const ROUNDS = 5;
const TIMEOUT_MS = 3000;
const STORED_WITHIN_MS = 1500;
const LONGEST_HOLD_MS = 20;

export const poll: Bench = {
  name: 'poll',
  title: 'a thousand game servers, simulated by another process, polled at once',
  run: async ({ say }) => {
    using games = await startGameServers(SERVERS);
    say('queries');
    const rows = await measureQueries(games.addresses);
    say('queries, results stored');
    return [...rows, ...(await measurePoller(games.addresses))];
  },
};

/** Processor time of the queries alone, compared with the same datagrams exchanged without parsing. None may fail. */
async function measureQueries(addresses: string[]): Promise<Row[]> {
  await pollAll(addresses);
  await runAll(addresses, exchange);
  const figures = await measureSideBySide(
    {
      ours: () => processorMsOf(() => pollAll(addresses)),
      floor: () => processorMsOf(() => runAll(addresses, exchange)),
    },
    { rounds: ROUNDS },
  );
  return [
    compare('processor time for polling 1,000 servers', {
      ...figures,
      name: 'the same datagrams, not parsed',
    }),
  ];
}

async function processorMsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

/** The poller as the service runs it, on a database of its own: from its start to the last snapshot written. */
async function measurePoller(addresses: string[]): Promise<Row[]> {
  const log = pino({ level: 'silent' });
  await using postgres = await startTemporaryPostgres('poll');
  const database = openDatabase(postgres.url);
  try {
    await migrateDatabase(postgres.url);
    await database.db
      .insert(servers)
      .values(
        addresses.map((address, number) => ({ slug: `bench-${number}`, name: `Bench ${number}`, address })),
      );
    const leaders = openLeaders(postgres.url, { log });
    const list = await createServerList(database.db, log);
    const poller = createPoller({ db: database.db, servers: list, leaders, log, intervalSeconds: 15 });
    const hold = watchEventLoop();
    const startedAt = performance.now();
    poller.start();
    while ((await countSnapshots(database)) < addresses.length) await Bun.sleep(20);
    const tookMs = performance.now() - startedAt;
    const maxHoldMs = hold.stop();
    await poller.stop();
    list.stop();
    return [
      limitFigure(
        'polling 1,000 servers and storing the results',
        { value: tookMs },
        { atMost: STORED_WITHIN_MS },
      ),
      {
        ...limitFigure(
          '… longest block of the event loop',
          { value: maxHoldMs },
          { atMost: LONGEST_HOLD_MS },
        ),
        note: 'processor time of the whole process between two turns of the event loop',
      },
    ];
  } finally {
    await database.close({ timeoutSeconds: 1 });
  }
}

async function countSnapshots({ connection }: Database): Promise<number> {
  const [row] = await connection`select count(*)::int as count from server_snapshots where is_online`;
  return Number(row?.count ?? 0);
}

function pollAll(addresses: string[]): Promise<void> {
  return runAll(addresses, async (address) => {
    const outcome = await queryGameServer(address, { timeoutMs: TIMEOUT_MS });
    if (!outcome.hasResponded) throw new Error(`${address}: ${outcome.reason}`);
  });
}

/** Runs the work for all addresses under the poller's own schedule, every one due at once. */
async function runAll(addresses: string[], work: (address: string) => Promise<void>): Promise<void> {
  const done = Promise.withResolvers<void>();
  let left = addresses.length;
  const schedule = createPollSchedule({
    intervalMs: 3_600_000,
    maxRunning: 256,
    poll: async ({ address }) => {
      await work(address).catch(done.reject);
      left -= 1;
      if (left === 0) done.resolve();
    },
  });
  schedule.setTargets(addresses.map((address, id) => ({ id, address })));
  await done.promise.finally(schedule.stop);
}

const INFO = Buffer.from('\xff\xff\xff\xffTSource Engine Query\0', 'latin1');

/** Info, challenge, info, players: exchanges the datagrams of a poll, and parses only the challenge. */
function exchange(address: string): Promise<void> {
  const { host, port } = parseServerAddress(address);
  return new Promise((settle, reject) => {
    const socket = createSocket('udp4');
    let challenge = Buffer.alloc(0);
    let received = 0;
    const timer = setTimeout(() => reject(new Error(`${address}: no answer`)), TIMEOUT_MS);
    socket.on('message', (datagram) => {
      received += 1;
      if (received === 1) {
        challenge = datagram.subarray(5, 9);
        socket.send(Buffer.concat([INFO, challenge]));
      } else if (received === 2) {
        socket.send(Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xff, 0x55]), challenge]));
      } else {
        clearTimeout(timer);
        socket.close();
        settle();
      }
    });
    socket.connect(port, host, () => socket.send(INFO));
  });
}

/**
 * Measures the longest stretch between two turns of the event loop, by the processor time this process used in it:
 * on a busy machine the wall clock would show how long others were let run.
 */
function watchEventLoop() {
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
  return {
    stop: () => {
      isWatching = false;
      return maxMs;
    },
  };
}
