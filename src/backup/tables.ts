import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Connection, isDatabaseOutage, type Transaction } from '../db/client.ts';
import { MIGRATION_HASHES, MIGRATIONS_FOLDER } from '../db/migrate.ts';
import { hasErrorCode, InvalidInput } from '../domain/errors.ts';
import { escapeUnprintable } from '../domain/text/escape-unprintable.ts';
import { recountWithin } from '../queries/penalties/recount.ts';
import type { Manifest, SequenceState } from './archive.ts';
import { BadArchive } from './tar.ts';

/** A connection or a transaction. */
type Queries = Pick<Connection, 'unsafe'>;

type Snapshot = {
  tables: Record<string, { name: string; foreignKeys: Record<string, { tableTo: string }> }>;
};

/**
 * The tables of the schema after that many migrations, in an order in which none references a later one.
 * @param migrations all by default.
 */
export async function loadTables(migrations = MIGRATION_HASHES.length): Promise<string[]> {
  const folder = join(MIGRATIONS_FOLDER, 'meta');
  // Named by the number of the migration, counted from 0; one that changes no table may have none.
  const snapshots = (await readdir(folder)).filter((name) => /^[0-9]+_snapshot/.test(name)).sort();
  const newest = snapshots.findLast((name) => Number.parseInt(name, 10) < migrations);
  if (newest === undefined) return [];
  const { tables }: Snapshot = JSON.parse(await readFile(join(folder, newest), 'utf8'));
  const references = new Map(
    Object.values(tables).map(({ name, foreignKeys }) => [
      name,
      Object.values(foreignKeys).map(({ tableTo }) => tableTo),
    ]),
  );
  const sorted = new Set<string>();
  const visit = (name: string) => {
    if (sorted.has(name)) return;
    for (const target of references.get(name) ?? []) if (target !== name) visit(target);
    sorted.add(name);
  };
  for (const name of [...references.keys()].sort()) visit(name);
  return [...sorted];
}

type NamedFile = { soundId: number; name: string; sha256: string | null };

/** The files of published and queued sounds that the rows name; an upload has no hash. */
export async function listNamedFiles(queries: Queries): Promise<NamedFile[]> {
  const rows = await queries.unsafe(NAMED_FILES);
  return rows.map(({ id: soundId, name, sha256 }) => ({ soundId, name, sha256 }));
}

const UNFINISHED = `'queued', 'measuring', 'rendering'`;
const NAMED_FILES = `
  select id, 'sounds/' || steamid64 || '.mp3' as name, sha256 from round_sounds
  where status = 'ready' and sha256 is not null
  union all
  select id, 'sounds/' || steamid64 || '.voice.mp3', voice_sha256 from round_sounds
  where status = 'ready' and voice_sha256 is not null
  union all
  select id, 'uploads/' || upload_key, null from round_sounds where status in (${UNFINISHED})
  order by name`;

const PAGE_BYTES = 8192;
/** More rows than a page has. A row's place in its table is its page times this, and its number on that page. */
const PLACES_PER_PAGE = 512;
/** Some 2 MiB of the table, which become two or three times as much JSON. */
const PLACES_PER_PART = 256 * PLACES_PER_PAGE;
const MAX_PART_BYTES = 8 * 1024 * 1024;

type TablePart = { bytes: Uint8Array; rows: number };

/**
 * A table as lines of JSON, some megabytes at a time. One query per part, because the driver's stream of
 * `COPY … TO STDOUT` never ends after a pause, and is slow (one event per row).
 * @param lostSounds ids of the sounds whose files are lost.
 */
export async function* readTable(
  queries: Queries,
  table: string,
  lostSounds: readonly number[] = [],
): AsyncGenerator<TablePart, void> {
  const [size] = await queries.unsafe(`select pg_relation_size(($1::text)::regclass) as bytes`, [table]);
  const row =
    table === 'round_sounds' && lostSounds.length > 0
      ? `case when id in (${lostSounds.join()}) then jsonb_populate_record(stored, '${LOSS}') else stored end`
      : 'stored';
  const end = Math.ceil(Number(size?.bytes) / PAGE_BYTES) * PLACES_PER_PAGE;
  for (let place = 0; place < end; place += PLACES_PER_PART)
    yield* readPlaces(queries, { table, row }, { from: place, to: place + PLACES_PER_PART });
}

/** What `saveSoundLoss` writes. */
const LOSS = JSON.stringify({ status: 'failed', failure: 'lost' });

/** A row does not move to another place while a snapshot can see it. */
async function* readPlaces(
  queries: Queries,
  { table, row }: { table: string; row: string },
  { from, to }: { from: number; to: number },
): AsyncGenerator<TablePart, void> {
  const range = [from, to].map(
    (place) => `(${Math.floor(place / PLACES_PER_PAGE)},${place % PLACES_PER_PAGE})`,
  );
  const lines = `
    from (select row_to_json(${row})::text as line from only "${table}" as stored
      where ctid >= '${range[0]}' and ctid < '${range[1]}') as part`;
  // Measured first, because PostgreSQL compresses long texts: a page may have hundreds of megabytes.
  const [part] = await queries.unsafe(
    `select count(*)::integer as rows, coalesce(sum(octet_length(line)), 0)::float8 as "sizeBytes" ${lines}`,
  );
  if (!part || part.rows === 0) return;
  if (part.sizeBytes > MAX_PART_BYTES && part.rows > 1) {
    const middle = (from + to) >> 1;
    yield* readPlaces(queries, { table, row }, { from, to: middle });
    yield* readPlaces(queries, { table, row }, { from: middle, to });
    return;
  }
  const [text] = await queries.unsafe(`select string_agg(line, E'\\n') as lines ${lines}`);
  yield { bytes: Buffer.from(`${text?.lines}\n`), rows: part.rows };
}

/** The state of the sequences of identity columns. It is not part of the snapshot, but never behind its rows. */
export async function readSequences(queries: Queries): Promise<SequenceState[]> {
  const rows = await queries.unsafe(
    `select sequencename as name, coalesce(last_value, start_value)::text as "lastValue", last_value is not null as "isCalled"
     from pg_sequences where schemaname = 'public' order by sequencename`,
  );
  return rows.map(({ name, lastValue, isCalled }) => ({ name, lastValue, isCalled }));
}

const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Empties the tables for the rows of a backup; other sessions see them once the transaction commits. Triggers are
 * disabled: what they maintain is in the backup, or is rebuilt by {@link finishTables}.
 * @throws {InvalidInput} when another session uses them.
 */
export async function emptyTables(transaction: Transaction, tables: readonly string[]): Promise<void> {
  await transaction.unsafe(`set local lock_timeout = '1s'`);
  try {
    for (const table of tables) await transaction.unsafe(`alter table "${table}" disable trigger user`);
    await transaction.unsafe(`truncate ${tables.map((table) => `"${table}"`).join(', ')}`);
  } catch (error) {
    if (!hasErrorCode(error, [LOCK_NOT_AVAILABLE])) throw error;
    throw new InvalidInput('The database is in use: stop what uses it, then run restore again');
  }
}

/** Rebuilt from other tables, because its hashes and folded names depend on the PostgreSQL server. */
const DERIVED_NAMES = 'player_names';

/**
 * Inserts rows into an emptied table, from lines of {@link readTable}; halves refused ones down to the wrong row.
 * @param from for the message: the entry of the archive, and the number of the first line in it.
 * @throws {BadArchive} that names the line that PostgreSQL refuses.
 */
export async function fillTable(
  transaction: Transaction,
  table: string,
  lines: readonly string[],
  from: { name: string; line: number },
): Promise<void> {
  if (table === DERIVED_NAMES) return;
  try {
    await transaction.savepoint((step) => step.unsafe(insertInto(table), [lines.join('\n')]));
  } catch (error) {
    const reason = refusalOf(error);
    if (reason === undefined) throw error;
    if (lines.length === 1) throw new BadArchive(`was altered: line ${from.line} of ${from.name}: ${reason}`);
    const middle = lines.length >> 1;
    await fillTable(transaction, table, lines.slice(0, middle), from);
    await fillTable(transaction, table, lines.slice(middle), { ...from, line: from.line + middle });
  }
}

const insertInto = (table: string) =>
  `insert into "${table}" overriding system value
   select stored.* from unnest(string_to_array($1, E'\\n')) as line
   cross join lateral json_populate_record(null::"${table}", line::json) as stored`;

/** Why PostgreSQL refused values, in one line; undefined for other errors, such as an outage. */
export function refusalOf(error: unknown): string | undefined {
  const isRefusal = error instanceof Error && error.name === 'PostgresError' && !isDatabaseOutage(error);
  return isRefusal ? escapeUnprintable(error.message) : undefined;
}

/**
 * Completes restored tables: sequences, names, a new epoch of events, triggers and tallies.
 * @returns how many tallies were wrong, and are now right.
 */
export async function finishTables(
  transaction: Transaction,
  tables: readonly string[],
  { sequences }: Manifest,
): Promise<number> {
  // No staged files come with a backup: sounds that were being published are rendered again.
  await transaction.unsafe(
    `update round_sounds set sha256 = null, voice_sha256 = null where status in (${UNFINISHED})`,
  );
  await transaction.unsafe(WRITE_SEQUENCES, [JSON.stringify(sequences)]);
  await transaction.unsafe(REMEMBER_NAMES);
  await startNewEpoch(transaction);
  for (const table of tables) await transaction.unsafe(`alter table "${table}" enable trigger user`);
  return (await recountWithin(transaction)).wrong;
}

/** So that new rows get new ids. */
const WRITE_SEQUENCES = `
  select setval(format('public.%I', name)::regclass, "lastValue", "isCalled")
  from json_to_recordset(($1::text)::json) as state(name text, "lastValue" bigint, "isCalled" boolean)
  join pg_sequences on schemaname = 'public' and sequencename = name`;

/** All names at once; the triggers of `0003_names.sql` are disabled. */
const REMEMBER_NAMES = `
  insert into player_names (steamid64, is_nickname, name, folded, grams)
  select steamid64, is_nickname, name, folded, grams
  from (
    select distinct player_steamid as steamid64, false as is_nickname, left(player_name, 256) as name from penalties
    where player_steamid <> 0 and player_name <> ''
    union all
    select steamid64, true, left(nickname, 256) from users where nickname <> ''
  ) as borne
  cross join lateral (select fold_text(name) as folded offset 0) as fold
  cross join lateral name_grams(folded)`;

/**
 * Gives the event log a new epoch: events since the backup are lost, and their ids will be reused, so that cursors of
 * clients have to be recognised as those of another database.
 */
async function startNewEpoch(transaction: Transaction): Promise<void> {
  const epoch = crypto.randomUUID().slice(0, 8);
  const ofBackup = 'epoch = (select epoch from penalty_event_state)';
  await transaction.unsafe(`update discord_feeds set epoch = $1 where ${ofBackup}`, [epoch]);
  await transaction.unsafe('update penalty_event_state set epoch = $1', [epoch]);
}
