import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { type Connection, connect } from '../../../src/db/client.ts';
import { startEmbeddedPostgres } from '../../../src/db/embedded/cluster.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { InvalidInput } from '../../../src/domain/errors.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { recountPenaltyTallies } from '../../../src/queries/penalties/recount.ts';
import type { BenchOptions } from '../bench.ts';
import type { OpenDatabase } from './database-time.ts';
import { addressOf, createDatabase } from './temporary-postgres.ts';

/** The moment the generated five years end, and at which no status lags behind the clock. */
export const DATASET_END = new Date('2026-11-21T00:00:00Z');
const FOLDER = join(tmpdir(), 'community-api-bench');
const SMALL_ROWS = 10_000;
const YEARS = 5;
const BATCH_ROWS = 250_000;
/** Changes whenever the generator does, so that an older dataset is not mistaken for this one. */
const GENERATOR_VERSION = 4;

/** What the generator makes most and fewest of, and a player with many penalties, with where they got one of them. */
export type Subjects = {
  servers: readonly number[];
  admins: readonly SteamId64[];
  player: SteamId64;
  playerServer: number;
  playerAdmin: SteamId64;
};

/** The addresses of two databases: with ten thousand penalties, and with as many as were asked for. */
type Datasets = AsyncDisposable & { small: string; large: string };

/**
 * Generates penalties of five years, once; the next run finds them, in a folder under the system's temporary folder.
 * Settings of PostgreSQL are the product's. Five penalties a player, 1 % unknown players, about 20 servers, 200 admins and
 * a busy console. A million penalties need 2.4 GB of disk while they are made. PostgreSQL stops at the end of the block
 * that uses them.
 */
export async function openDatasets({ rows, say }: Pick<BenchOptions, 'rows' | 'say'>): Promise<Datasets> {
  await mkdir(FOLDER, { recursive: true });
  await using stack = new AsyncDisposableStack();
  const { url, stop } = await startEmbeddedPostgres({ dataDir: FOLDER, log: pino({ level: 'silent' }) });
  stack.defer(stop);
  const small = await ensureDataset(url, SMALL_ROWS, say);
  const large = await ensureDataset(url, rows, say);
  const opened = stack.move();
  return { small, large, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** The busiest admin is the console, without a SteamID. */
export async function findSubjects({ connection }: OpenDatabase): Promise<Subjects> {
  const [row] = await connection<Pick<Subjects, 'player' | 'playerServer' | 'playerAdmin'>[]>`
    select player_steamid::text as player, server_id as "playerServer", admin_steamid::text as "playerAdmin"
    from penalties
    where player_steamid between 76561197960265729 and 76561197960265829 and admin_steamid <> 0 and server_id <> 0
    order by count(*) over (partition by player_steamid) desc, id limit 1`;
  if (!row) throw new Error('the dataset is empty');
  const admins = ['0', '76561198800000001', '76561198800000200'] as SteamId64[];
  return { servers: [1, 20], admins, ...row };
}

/** @returns the address of the database with so many penalties. */
async function ensureDataset(serverUrl: string, rows: number, say: (line: string) => void): Promise<string> {
  const name = `penalties_${rows}_v${GENERATOR_VERSION}`;
  const url = addressOf(serverUrl, name);
  await withConnection(serverUrl, async (admin) => {
    const [existing] = await admin`select 1 from pg_database where datname = ${name}`;
    if (existing && (await hasOurSchema(url))) return;
    // Renamed when it is complete: a load that was interrupted is started again.
    const partial = `${name}_partial`;
    const partialUrl = await createDatabase(serverUrl, partial);
    await withConnection(partialUrl, (connection) => loadPenalties(connection, rows, say));
    await recountPenaltyTallies(partialUrl);
    await withConnection(partialUrl, async (connection) => {
      await connection`vacuum (analyze)`;
      await connection`checkpoint`;
    });
    await admin.unsafe(`drop database if exists ${name} with (force)`);
    await admin.unsafe(`alter database ${partial} rename to ${name}`);
  });
  await withConnection(url, readIntoCache);
  return url;
}

/** Updates the schema. @returns false for one whose migrations have since been rewritten. */
async function hasOurSchema(url: string): Promise<boolean> {
  try {
    await migrateDatabase(url);
    return true;
  } catch (error) {
    if (error instanceof InvalidInput) return false;
    throw error;
  }
}

/** Does work on a connection without statement timeout, since millions of rows take minutes. */
async function withConnection(
  url: string,
  work: (connection: Connection) => PromiseLike<unknown>,
): Promise<void> {
  const connection = connect(url, { max: 1, statementTimeoutMs: 0 });
  try {
    await work(connection);
  } finally {
    await connection.end();
  }
}

/** Reads the data once, so that no query waits for the disk: the system may have dropped it from its cache. */
async function readIntoCache(connection: Connection): Promise<void> {
  await connection`create extension if not exists pg_prewarm`;
  await connection`
    select pg_prewarm(oid, 'read') from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'i')`;
}

/** Secondary indexes are made after a load: half the time of keeping them up row by row. */
async function loadPenalties(
  connection: Connection,
  rows: number,
  say: (line: string) => void,
): Promise<void> {
  await connection`set synchronous_commit = off`;
  await connection`set maintenance_work_mem = '512MB'`;
  await connection`set work_mem = '256MB'`;
  const indexes = await connection<{ name: string; definition: string }[]>`
    select indexname as name, indexdef as definition from pg_indexes
    where schemaname = 'public' and tablename in ('penalties', 'player_names') and indexname !~ '_pk(ey)?$'`;
  for (const { name } of indexes) await connection.unsafe(`drop index ${name}`);
  // What triggers keep is made at once below; no bench reads ten million events.
  await connection`alter table penalties disable trigger user`;
  await connection`alter table player_names disable trigger user`;
  for (let from = 0; from < rows; from += BATCH_ROWS) {
    await insertBatch(connection, { from, to: Math.min(from + BATCH_ROWS, rows), rows });
    if (rows > BATCH_ROWS) say(`${Math.min(from + BATCH_ROWS, rows)} of ${rows} penalties`);
  }
  if (rows > BATCH_ROWS) say('indexes and statistics');
  // What the triggers of 0003_names.sql would write.
  await connection`
    insert into player_names (steamid64, is_nickname, name, folded, grams)
    select steamid64, false, name, folded, grams
    from (select distinct player_steamid as steamid64, player_name as name from penalties where player_steamid <> 0) as borne
    cross join lateral (select fold_text(name) as folded offset 0) as fold
    cross join lateral name_grams(folded)`;
  for (const { definition } of indexes) await connection.unsafe(definition);
  await connection`alter table penalties enable trigger user`;
  await connection`alter table player_names enable trigger user`;
}

/** Ids rise with `created_at` but for some minutes' jitter, as records of several servers arrive. */
async function insertBatch(
  connection: Connection,
  { from, to, rows }: { from: number; to: number; rows: number },
): Promise<void> {
  // Another seed for each batch: a player drawn twice by the same one would bear the same penalties ten times over.
  await connection`select setseed(${from / rows})`;
  await connection`
    insert into penalties (type, status, player_name, player_steamid, admin_name, admin_steamid, reason,
      duration_minutes, server_id, created_at, ends_at, lifted_at)
    select
      (case when of_type < 0.35 then 'ban' when of_type < 0.60 then 'gag' when of_type < 0.80 then 'mute'
        when of_type < 0.90 then 'warn' else 'silence' end)::penalty_type,
      (case when of_status < 0.08 then 'UNBANNED' when ends_at <= ${DATASET_END} then 'EXPIRED' else 'ACTIVE' end)::penalty_status,
      case when player = 0 then '' else 'Gracz ' || player end,
      case when player = 0 then 0 else 76561197960265728 + player end,
      case when admin = 0 then 'CONSOLE' else 'Admin ' || admin end,
      case when admin = 0 then 0 else 76561198800000000 + admin end,
      (array['Wallhack', 'Aimbot', 'Obraza graczy', 'Spam na czacie', 'Toxic behaviour', 'Reklama innego serwera',
        'Omijanie bana', 'Бан за читы', 'Mic spam', ''])[1 + floor(of_reason * 10)::int],
      minutes, server, created_at, ends_at,
      case when of_status < 0.08 then created_at + interval '3 hours' end
    from (
      select *, case when minutes > 0 then created_at + minutes * interval '1 minute' end as ends_at
      from (
        select random() as of_type, random() as of_status, random() as of_reason,
          case when random() < 0.01 then 0 else 1 + floor(${Math.max(rows / 5, 100)}::float8 * random() ^ 1.2)::bigint end as player,
          case when random() < 0.3 then 0 else 1 + floor(200 * random() ^ 2)::bigint end as admin,
          case when random() < 0.02 then 0 else 1 + floor(20 * random() ^ 1.5)::int end as server,
          (array[0, 0, 30, 60, 1440, 1440, 10080, 43200, 525600, 0])[1 + floor(random() * 10)::int] as minutes,
          date_trunc('second', ${DATASET_END}::timestamptz
            - ${YEARS * 365.25 * 86_400}::float8 * (1 - i / ${rows}::float8) * interval '1 second'
            - random() * interval '20 minutes') as created_at
        from generate_series(${from}::int, ${to - 1}::int) as i
      ) as drawn
    ) as ended`;
}
