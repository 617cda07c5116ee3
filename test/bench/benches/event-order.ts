import { type Connection, connect } from '../../../src/db/client.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { insertPenalties } from '../../support/database/builders.ts';
import { type Bench, formatMs, formatRatio, percentile } from '../bench.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

const WRITERS = 8;
const SECONDS = 10;
const READ_EVERY_MS = 2;
/** How long a transaction of somebody else stays open, which changes no penalty. */
const OPEN_FOR_MS = 2000;
const BESIDE = `beside a transaction of ${OPEN_FOR_MS / 1000} s that changes none`;

/** A way to give out events in the order in which their transactions ended. */
type Order = { name: string; prepare: string; isFinal: string };

const BY_LOCK: Order = { name: 'ids under the lock of the tallies', prepare: '', isFinal: 'true' };
const BY_SNAPSHOT: Order = {
  name: 'pg_snapshot_xmin',
  // The lock stays: without it, writers of the same tallies deadlock, and most give up after five attempts.
  prepare: 'alter table penalty_events add column written_by xid8 not null default pg_current_xact_id()',
  isFinal: 'written_by < pg_snapshot_xmin(pg_current_snapshot())',
};

/**
 * Two ways to keep the order of events: to take ids while holding a lock that every writer of penalties holds to its end,
 * or to read only what was written before the oldest transaction that is still open, whoever it belongs to and whatever it
 * has written.
 */
export const eventOrder: Bench = {
  name: 'order',
  title: `${WRITERS} writers of penalties and a reader of their events, by two ways to keep the order`,
  run: async ({ say }) => {
    say(BY_LOCK.name);
    const ours = await measureOrder(BY_LOCK);
    say(BY_SNAPSHOT.name);
    const other = await measureOrder(BY_SNAPSHOT);
    return (['quiet', 'beside'] as const).map((when) => ({
      what: `from commit to reader, p99${when === 'beside' ? `, ${BESIDE}` : ''}`,
      ours: formatMs(ours[when]),
      floor: `${BY_SNAPSHOT.name}: ${formatMs(other[when])}`,
      ratio: formatRatio(ours[when] / other[when]),
      target: 'for information',
      isReached: true,
    }));
  },
};

/** From a commit to the reader, p99 in milliseconds. */
type Delays = { quiet: number; beside: number };

async function measureOrder({ prepare, isFinal }: Order): Promise<Delays> {
  await using postgres = await startTemporaryPostgres('order');
  await migrateDatabase(postgres.url);
  const connection = connect(postgres.url, { max: 2 });
  await connection`create table other_work (id bigint generated always as identity)`;
  if (prepare !== '') await connection.unsafe(prepare);
  const quiet = await writeAndRead(postgres.url, connection, isFinal);
  const open = keepTransactionsOpen(connection);
  const beside = await writeAndRead(postgres.url, connection, isFinal);
  await open.stop();
  await connection.end();
  return { quiet, beside };
}

/** Writes one penalty a transaction on several connections, and reads all events as soon as the order allows it. */
async function writeAndRead(url: string, connection: Connection, isFinal: string): Promise<number> {
  const { db, close } = openDatabase(url, { max: WRITERS });
  const committedMs = new Map<number, number>();
  const readMs = new Map<number, number>();
  const untilMs = performance.now() + SECONDS * 1000;
  let isWriting = true;
  const read = async () => {
    const [newest] = await connection`select coalesce(max(id), 0)::int as id from penalty_events`;
    let last = newest?.id;
    while (isWriting || readMs.size < committedMs.size) {
      const rows = await connection.unsafe(
        `select id::int, penalty_id::int from penalty_events where id > ${last} and ${isFinal} order by id limit 1000`,
      );
      for (const { penalty_id } of rows) readMs.set(penalty_id, performance.now());
      last = rows.at(-1)?.id ?? last;
      if (rows.length === 0) await Bun.sleep(READ_EVERY_MS);
    }
  };
  const reading = read();
  const write = async () => {
    while (performance.now() < untilMs) {
      const [row] = await insertPenalties(db, [{}]);
      if (row) committedMs.set(row.id, performance.now());
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  isWriting = false;
  await reading;
  await close();
  const delaysMs = [...committedMs].map(([id, atMs]) => Math.max((readMs.get(id) ?? 0) - atMs, 0));
  return percentile(delaysMs, 0.99);
}

/** One transaction after another that writes a row of another table and then takes its time, as an import may. */
function keepTransactionsOpen(connection: Connection): { stop: () => Promise<void> } {
  let isOver = false;
  const run = async () => {
    while (!isOver) {
      await connection.begin(async (tx) => {
        await tx`insert into other_work default values`;
        await Bun.sleep(OPEN_FOR_MS);
      });
    }
  };
  const running = run();
  return {
    stop: async () => {
      isOver = true;
      await running;
    },
  };
}
