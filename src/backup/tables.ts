import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from '../db/client.ts';
import { MIGRATIONS_FOLDER } from '../db/migrate.ts';
import { arrayLiteral } from '../db/select.ts';
import type { SequenceState } from './manifest.ts';

/** A connection or a transaction. */
export type Queries = Pick<Connection, 'unsafe'>;

/**
 * Some 2 MiB of the table, which become two or three times as much JSON. A row does not move to another page while a
 * snapshot can see it.
 */
const PAGES_PER_PART = 256;
const PAGE_BYTES = 8192;

/** The tables of a backup, for any version of the schema, in an order in which none references a later one. */
export async function listTables(queries: Queries): Promise<string[]> {
  const known = await loadTableNames();
  const rows = await queries.unsafe(
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
       and relname = any($1) order by relname`,
    [arrayLiteral(known)],
  );
  const references = await queries.unsafe(
    `select distinct conrelid::regclass::text as "from", confrelid::regclass::text as "to" from pg_constraint
     where contype = 'f' and connamespace = 'public'::regnamespace and conrelid <> confrelid`,
  );
  const names = rows.map((row) => String(row.name));
  return sortByReferences(names, (name) =>
    references.filter((row) => row.from === name).map((row) => String(row.to)),
  );
}

function sortByReferences(names: readonly string[], listTargets: (name: string) => string[]): string[] {
  const sorted = new Set<string>();
  const visit = (name: string) => {
    if (sorted.has(name) || !names.includes(name)) return;
    for (const target of listTargets(name)) visit(target);
    sorted.add(name);
  };
  for (const name of names) visit(name);
  return [...sorted];
}

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
      `select count(*)::integer as rows, string_agg(row_to_json(kept)::text, E'\\n') as lines from only "${table}" as kept
       where ctid >= '(${page},0)' and ctid < '(${page + PAGES_PER_PART},0)'`,
    );
    if (part && part.rows > 0) yield { bytes: Buffer.from(`${part.lines}\n`), rows: part.rows };
  }
}

/** Inserts rows into a table, from lines of {@link readTable}. */
export async function writeRows(queries: Queries, table: string, lines: Uint8Array): Promise<void> {
  await queries.unsafe(
    `insert into "${table}" overriding system value
     select kept.* from unnest(string_to_array($1, E'\\n')) as line
     cross join lateral json_populate_record(null::"${table}", line::json) as kept`,
    [new TextDecoder().decode(lines).replace(/\n$/, '')],
  );
}

/** The state of the sequences of identity columns. It is not part of the snapshot, but never behind its rows. */
export async function readSequences(queries: Queries): Promise<SequenceState[]> {
  const rows = await queries.unsafe(
    `select sequencename as name, coalesce(last_value, start_value)::text as "lastValue", last_value is not null as "isCalled"
     from pg_sequences where schemaname = 'public' order by sequencename`,
  );
  return rows.map(({ name, lastValue, isCalled }) => ({ name, lastValue, isCalled }));
}

/** Sets sequences to the states of {@link readSequences}, so that new rows get new ids. */
export async function writeSequences(queries: Queries, states: readonly SequenceState[]): Promise<void> {
  for (const { name, lastValue, isCalled } of states) {
    await queries.unsafe(
      `select setval(format('public.%I', sequencename)::regclass, $2::bigint, $3) from pg_sequences
       where schemaname = 'public' and sequencename = $1`,
      [name, lastValue, isCalled],
    );
  }
}

/** All tables of the schema after the newest migration. */
async function loadTableNames(): Promise<string[]> {
  const folder = join(MIGRATIONS_FOLDER, 'meta');
  const snapshots = (await readdir(folder)).filter((name) => name.endsWith('_snapshot.json'));
  const newest = JSON.parse(await readFile(join(folder, snapshots.sort().at(-1) ?? ''), 'utf8'));
  return Object.values<{ name: string }>(newest.tables).map(({ name }) => name);
}
