import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection, Transaction } from '../db/client.ts';
import { MIGRATIONS_FOLDER } from '../db/migrate.ts';
import { arrayLiteral } from '../db/select.ts';
import { hasErrorCode, InvalidInput } from '../domain/errors.ts';
import { recountWithin } from '../queries/penalties/recount.ts';
import type { Manifest, SequenceState } from './archive.ts';

/** A connection or a transaction. */
type Queries = Pick<Connection, 'unsafe'>;

/** The tables of a backup, for any version of the schema, in an order in which none references a later one. */
export async function listTables(queries: Queries): Promise<string[]> {
  const rows = await queries.unsafe(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
       and relname = any($1) order by relname`,
    [arrayLiteral(await loadTableNames())],
  );
  const references = await queries.unsafe(
    `select distinct conrelid::regclass::text as "from", confrelid::regclass::text as "to" from pg_constraint
     where contype = 'f' and connamespace = 'public'::regnamespace and conrelid <> confrelid`,
  );
  const names = rows.map((row) => String(row.name));
  const sorted = new Set<string>();
  const visit = (name: string) => {
    if (sorted.has(name) || !names.includes(name)) return;
    for (const { from, to } of references) if (from === name) visit(to);
    sorted.add(name);
  };
  for (const name of names) visit(name);
  return [...sorted];
}

/** All tables of the schema after the newest migration. */
async function loadTableNames(): Promise<string[]> {
  const folder = join(MIGRATIONS_FOLDER, 'meta');
  const snapshots = (await readdir(folder)).filter((name) => name.endsWith('_snapshot.json'));
  const newestSnapshot = JSON.parse(await readFile(join(folder, snapshots.sort().at(-1) ?? ''), 'utf8'));
  return Object.values<{ name: string }>(newestSnapshot.tables).map(({ name }) => name);
}

/**
 * Some 2 MiB of the table, which become two or three times as much JSON. A row does not move to another page while a
 * snapshot can see it.
 */
const PAGES_PER_PART = 256;
const PAGE_BYTES = 8192;

/**
 * A table as lines of JSON, some megabytes at a time. One query per part, because the driver's stream of
 * `COPY … TO STDOUT` never ends after a pause, and is slow (one event per row).
 */
export async function* readTable(
  queries: Queries,
  table: string,
): AsyncGenerator<{ bytes: Uint8Array; rows: number }> {
  const [size] = await queries.unsafe(`select pg_relation_size(($1::text)::regclass) as bytes`, [table]);
  const pages = Math.ceil(Number(size?.bytes) / PAGE_BYTES);
  for (let page = 0; page < pages; page += PAGES_PER_PART) {
    const [part] = await queries.unsafe(
      `select count(*)::integer as rows, string_agg(row_to_json(stored)::text, E'\\n') as lines from only "${table}" as stored
       where ctid >= '(${page},0)' and ctid < '(${page + PAGES_PER_PART},0)'`,
    );
    if (part && part.rows > 0) yield { bytes: Buffer.from(`${part.lines}\n`), rows: part.rows };
  }
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
export async function emptyTables(transaction: Transaction): Promise<void> {
  const tables = await listTables(transaction);
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

/** Inserts rows of an emptied table, from lines of {@link readTable}. */
export async function fillTable(transaction: Transaction, table: string, lines: Buffer): Promise<void> {
  if (table === DERIVED_NAMES) return;
  await transaction.unsafe(
    `insert into "${table}" overriding system value
     select stored.* from unnest(string_to_array($1, E'\\n')) as line
     cross join lateral json_populate_record(null::"${table}", line::json) as stored`,
    [lines.toString().replace(/\n$/, '')],
  );
}

/**
 * Completes restored tables: sequences, names, a new epoch of events, triggers and tallies.
 * @returns how many tallies were wrong, and are now right.
 */
export async function finishTables(transaction: Transaction, { sequences }: Manifest): Promise<number> {
  await transaction.unsafe(WRITE_SEQUENCES, [JSON.stringify(sequences)]);
  await transaction.unsafe(REMEMBER_NAMES);
  await startNewEpoch(transaction);
  // Not the names in the manifest, which are part of the statement.
  for (const table of await listTables(transaction))
    await transaction.unsafe(`alter table "${table}" enable trigger user`);
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
