import { type Connection, isDatabaseOutage, type Transaction } from '../db/client.ts';
import { hasWaitedForLock } from '../db/locks.ts';
import { InvalidInput } from '../domain/errors.ts';
import { USER_FLAGS } from '../domain/rights/user-flags.ts';
import { escapeUnprintable } from '../domain/text/escape-unprintable.ts';
import { recountWithin } from '../queries/penalties/recount.ts';
import { BadArchive } from './tar.ts';

/** A connection or a transaction. */
type Queries = Pick<Connection, 'unsafe'>;

/** Sorts tables so that none references a later one. */
export async function sortTables(queries: Queries, tables: ReadonlySet<string>): Promise<string[]> {
  const references = await queries.unsafe(
    `select source.relname as name, target.relname as target from pg_constraint
     join pg_class as source on source.oid = conrelid join pg_class as target on target.oid = confrelid
     where contype = 'f' and connamespace = 'public'::regnamespace and conrelid <> confrelid`,
  );
  const sorted = new Set<string>();
  const visit = (table: string) => {
    for (const { name, target } of references) if (name === table && !sorted.has(target)) visit(target);
    if (tables.has(table)) sorted.add(table);
  };
  for (const table of [...tables].sort()) visit(table);
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

/** A row keeps its `ctid` while a snapshot can see it. */
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
    if (!hasWaitedForLock(error)) throw error;
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
    await transaction.savepoint(async (step) => {
      const [odd] = await step.unsafe(findOddLine(table), [lines.join('\n')]);
      if (odd)
        throw new BadArchive(`was altered: line ${from.line + odd.index} of ${from.name} has other columns`);
      await step.unsafe(insertInto(table), [lines.join('\n')]);
    });
  } catch (error) {
    const reason = refusalOf(error);
    if (reason === undefined) throw error;
    if (lines.length === 1) throw new BadArchive(`was altered: line ${from.line} of ${from.name}: ${reason}`);
    const middle = lines.length >> 1;
    await fillTable(transaction, table, lines.slice(0, middle), from);
    await fillTable(transaction, table, lines.slice(middle), { ...from, line: from.line + middle });
  }
}

/** A line without exactly the columns of the table: PostgreSQL takes the last of two, and null for a missing one. */
const findOddLine = (table: string) =>
  `select (place - 1)::integer as index from unnest(string_to_array($1, E'\\n')) with ordinality as lines (line, place)
   where (select string_agg(key, ',' order by key) from json_object_keys(line::json) as key) is distinct from
     (select string_agg(attname, ',' order by attname::text) from pg_attribute
      where attrelid = '"${table}"'::regclass and attnum > 0 and not attisdropped)
   limit 1`;

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
 * @throws {BadArchive} for rows that the service cannot have written.
 */
export async function finishTables(transaction: Transaction, tables: readonly string[]): Promise<number> {
  await requireFinite(transaction, tables);
  await requireDerivedFlags(transaction);
  // No staged files come with a backup: sounds that were being published are rendered again.
  await transaction.unsafe(
    `update round_sounds set sha256 = null, voice_sha256 = null where status in (${UNFINISHED})`,
  );
  await continueSequences(transaction, tables);
  await transaction.unsafe(REMEMBER_NAMES);
  await startNewEpoch(transaction);
  for (const table of tables) await transaction.unsafe(`alter table "${table}" enable trigger user`);
  return (await recountWithin(transaction)).wrong;
}

/** New rows must get new ids. The newest events may have been deleted, but cursors contain their ids. */
async function continueSequences(transaction: Transaction, tables: readonly string[]): Promise<void> {
  const columns = await transaction.unsafe(
    `select relname as table, attname as column from pg_attribute join pg_class on pg_class.oid = attrelid
     where attidentity <> '' and relnamespace = 'public'::regnamespace`,
  );
  for (const { table, column } of columns) {
    if (!tables.includes(table)) continue;
    const last = table === 'penalty_events' ? '(select pruned_up_to from penalty_event_state)' : '0';
    await transaction.unsafe(
      `select setval(pg_get_serial_sequence('"${table}"', '${column}'), greatest(max("${column}"), ${last}) + 1, false)
       from "${table}"`,
    );
  }
}

/**
 * Refuses values that the types of columns allow and the service never writes: infinite times, and `NaN`.
 * @throws {BadArchive}
 */
async function requireFinite(transaction: Transaction, tables: readonly string[]): Promise<void> {
  const columns = await transaction.unsafe(
    `select relname as table, attname as column, typname like 'float_' as "isNumber"
     from pg_attribute join pg_class on pg_class.oid = attrelid join pg_type on pg_type.oid = atttypid
     where typname in ('timestamptz', 'date', 'float4', 'float8') and attnum > 0
       and relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  for (const { table, column, isNumber } of columns) {
    if (!tables.includes(table)) continue;
    const isOdd = isNumber ? `"${column}" in ('NaN', 'Infinity', '-Infinity')` : `not isfinite("${column}")`;
    const [odd] = await transaction.unsafe(`select from "${table}" where ${isOdd} limit 1`);
    if (odd) throw new BadArchive(`was altered: ${table} has a row whose ${column} is not finite`);
  }
}

/** @throws {BadArchive} unless the flags of users are those that {@link USER_FLAGS} derive from `user_flags`. */
async function requireDerivedFlags(transaction: Transaction): Promise<void> {
  const flags = Object.keys(USER_FLAGS)
    .map((flag) => `('${flag}', "${flag}")`)
    .join(', ');
  const [odd] = await transaction.unsafe(
    `select steamid64::text as id from users where exists (
       select from (values ${flags}) as given (flag, is_given) where is_given <> exists (
         select from user_flags where user_flags.steamid64 = users.steamid64 and user_flags.flag = given.flag)) limit 1`,
  );
  if (odd) throw new BadArchive(`was altered: the flags of user ${odd.id} are not those in user_flags`);
}

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
