import { getTableColumns, sql } from 'drizzle-orm';
import type { Connection, Db, Transaction } from '../../db/client.ts';
import { retryVictim } from '../../db/locks.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { arrayLiteral } from '../../db/select.ts';
import { loadAnonymiser } from '../personal-data/tombstones.ts';

/** Key of a penalty within its source. */
export type SourceKey = { sourceTable: string; sourceId: string };

type StoredPenalty = typeof penalties.$inferSelect;

/** A penalty of a source, ready to be written. */
export type ImportedPenalty = SourceKey &
  Omit<StoredPenalty, 'id' | 'source' | 'sourceTable' | 'sourceId' | 'goneAt' | 'adminSteamId'> & {
    /**
     * Null if the source no longer knows the admin: the stored one stays. An UNBANNED penalty without `liftedBySteamId`
     * also keeps the stored details of its lift.
     */
    adminSteamId: StoredPenalty['adminSteamId'] | null;
  };

/** `waiting`: rows that are other penalties than those stored under their keys, and were not written. */
type WriteCounts = { added: number; changed: number; unchanged: number; waiting: number };

/**
 * What becomes of a penalty whose id the source has given to another one. It is `updated` where an id always means the same
 * penalty. Otherwise the new one `waits` until the read has ended; then, the stored one is `kept` under an id that no source
 * has, and marked as gone.
 */
export type Replaced = 'updated' | 'waits' | 'kept';

/** How many penalties of a table a full read did not find at the source, and how many are here; the same of those in force. */
export type TableLosses = {
  sourceTable: string;
  lost: number;
  total: number;
  lostInForce: number;
  totalInForce: number;
};

/**
 * Creates the temporary tables in which an import notes the rows it has seen, rows that wait, and penalties it has not found;
 * every function below needs them. They belong to the session, which therefore has to be a single connection. A dry run also notes a hash of what it would have
 * written, with which it compares a row of the same key that comes later.
 * @param idleSeconds how long the session may say nothing before PostgreSQL ends it; 0: for ever.
 */
export async function startImportSession(
  session: Connection,
  { isDryRun, idleSeconds }: { isDryRun: boolean; idleSeconds: number },
): Promise<void> {
  const settings = JSON.stringify({ idle_session_timeout: `${idleSeconds}s`, ...DEAD_CLIENT });
  await session`select set_config(key, value, false) from json_each_text(${settings}::text::json)`;
  await session`create temp table import_seen (source_table text, source_id text, content bigint)`;
  await session`create temp table import_waiting (source_table text, source_id text, primary key (source_table, source_id))`;
  await session`create temp table import_lost (id bigint primary key, source_table text)`;
  if (isDryRun) await session`create unique index import_seen_key on import_seen (source_table, source_id)`;
}

/** How soon PostgreSQL ends the session, and with it the lock, of an import whose machine died: the system's default is hours. */
const DEAD_CLIENT = {
  tcp_keepalives_idle: '60s',
  tcp_keepalives_interval: '10s',
  tcp_keepalives_count: '6',
  tcp_user_timeout: '2min',
};

/**
 * Inserts new rows of a source, updates changed ones, leaves equal ones untouched, and marks all of them as seen, in one
 * statement, so that a killed process loses none. People who were erased are anonymised.
 * @param isDryRun only compares.
 */
export async function writeImportedPenalties(
  session: Connection,
  source: string,
  rows: readonly ImportedPenalty[],
  { isDryRun, replaced }: { isDryRun: boolean; replaced: Replaced },
): Promise<WriteCounts> {
  if (rows.length === 0) return { added: 0, changed: 0, unchanged: 0, waiting: 0 };
  const { unique, repeated } = dropRepeatedKeys(rows);
  const statement = isDryRun ? COMPARE : WRITE;
  const { added, changed, waiting } = await retryVictim(() =>
    session.begin(async (tx) => {
      const anonymised = unique.map(await loadAnonymiser(tx));
      const columns = COLUMNS.map((column) => arrayLiteral(anonymised.map((row) => row[column])));
      const run = async () => {
        const values = [source, ...columns, replaced !== 'updated', replaced === 'waits'];
        const [row] = await tx.unsafe(statement, values, { prepare: true });
        return { ...toCounts(row), replaced: row?.replaced };
      };
      const first = await run();
      if (first.replaced === null) return first;
      await releaseKeys(tx, String(first.replaced));
      const second = await run();
      return { ...first, added: first.added + second.added };
    }),
  );
  return { added, changed, waiting, unchanged: unique.length - added - changed - waiting + repeated };
}

function toCounts(row: Record<string, unknown> | undefined) {
  return { added: Number(row?.added), changed: Number(row?.changed), waiting: Number(row?.waiting) };
}

/** The stored penalties of a source that have one of these keys. */
export async function listImportedPenalties(
  db: Db,
  source: string,
  keys: readonly SourceKey[],
): Promise<ImportedPenalty[]> {
  if (keys.length === 0) return [];
  const rows = await db
    .select(IMPORTED)
    .from(penalties)
    .where(
      sql`${penalties.source} = ${source} and (${penalties.sourceTable}, ${penalties.sourceId}) in (
        select * from unnest(${tablesOf(keys)}::text[], ${idsOf(keys)}::text[])
      )`,
    );
  return rows.map((row) => ({ ...row, sourceTable: row.sourceTable ?? '', sourceId: row.sourceId ?? '' }));
}

/** Marks penalties as gone and frees their keys. @param ids an array literal. */
async function releaseKeys(tx: Transaction, ids: string): Promise<void> {
  await tx`update penalties
    set source_id = source_id || ' (penalty ' || id || ')', gone_at = coalesce(gone_at, now())
    where id = any(${ids}::bigint[])`;
}

/** Records as seen the rows that were not written. */
export async function markSeen(session: Connection, keys: readonly SourceKey[]): Promise<void> {
  if (keys.length === 0) return;
  await session`
    insert into import_seen select * from unnest(${tablesOf(keys)}::text[], ${idsOf(keys)}::text[])
    on conflict do nothing`;
}

/** Deletes rows of a source. */
export async function deleteImportedPenalties(
  session: Connection,
  source: string,
  keys: readonly SourceKey[],
): Promise<void> {
  if (keys.length === 0) return;
  await retryVictim(
    () => session`
      delete from penalties where source = ${source} and (source_table, source_id) in (
        select * from unnest(${tablesOf(keys)}::text[], ${idsOf(keys)}::text[])
      )`,
  );
}

/**
 * Notes the penalties of a source's tables that a full read has not seen, and counts them. Rows that wait were not seen.
 */
export async function findLostPenalties(
  session: Connection,
  { source, sourceTables }: { source: string; sourceTables: readonly string[] },
  now: Date,
): Promise<TableLosses[]> {
  // Before version 16, PostgreSQL may compare every row with every other if it has no index and no statistics of penalties.
  await session`create index if not exists import_seen_key on import_seen (source_table, source_id)`;
  await session`analyze import_seen`;
  const isHere = () => session`
    source = ${source} and source_table = any(${arrayLiteral(sourceTables)}::text[]) and gone_at is null`;
  await session`
    insert into import_lost select id, source_table from penalties where ${isHere()} and not exists (
      select from import_seen
      where import_seen.source_table = penalties.source_table and import_seen.source_id = penalties.source_id
    )`;
  return session<TableLosses[]>`
    select source_table as "sourceTable", count(*)::integer as total, count(lost.id)::integer as lost,
      (count(*) filter (where is_in_force))::integer as "totalInForce",
      (count(lost.id) filter (where is_in_force))::integer as "lostInForce"
    from (
      select id, source_table, status = 'ACTIVE' and (ends_at is null or ends_at > ${now.toISOString()}::text::timestamptz)
        as is_in_force
      from penalties where ${isHere()}
    ) as here left join import_lost lost using (id, source_table)
    group by source_table`;
}

/** Whether any row waits. */
export async function hasWaitingRows(session: Connection): Promise<boolean> {
  return (await session`select from import_waiting limit 1`).length > 0;
}

/** The ids of a table's rows that wait, in pages. */
export async function listWaitingIds(
  session: Connection,
  sourceTable: string,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await session`
    select source_id as id from import_waiting where source_table = ${sourceTable} and source_id > ${after}
    order by source_id limit ${limit}`;
  return rows.map((row) => String(row.id));
}

/**
 * Penalties in one step of {@link markGonePenalties}: a step takes seconds at most, and others can write between steps.
 */
const GONE_STEP_ROWS = 100_000;

/**
 * Marks as gone since `now` what {@link findLostPenalties} noted of some tables, except penalties that were seen since. It
 * works in steps: if the process dies, the next import marks the rest.
 * @param isDryRun only counts them.
 * @returns how many.
 */
export async function markGonePenalties(
  session: Connection,
  sourceTables: readonly string[],
  { now, isDryRun }: { now: Date; isDryRun: boolean },
): Promise<number> {
  const isOfTables = () => session`source_table = any(${arrayLiteral(sourceTables)}::text[])`;
  if (isDryRun) {
    const [row] = await session`select count(*) as gone from import_lost where ${isOfTables()}`;
    return Number(row?.gone);
  }
  for (let goneCount = 0; ; ) {
    const [step] = await retryVictim(
      () => session`
        with step as (
          delete from import_lost where id in (select id from import_lost where ${isOfTables()} limit ${GONE_STEP_ROWS})
          returning id
        ), marked as (
          update penalties set gone_at = ${now.toISOString()}::text::timestamptz from step
          where penalties.id = step.id and gone_at is null returning 1
        )
        select (select count(*) from marked) as gone, (select count(*) from step) as noted`,
    );
    if (Number(step?.noted) === 0) return goneCount;
    goneCount += Number(step?.gone);
  }
}

const { id, source, goneAt, sourceTable, sourceId, ...VALUES } = getTableColumns(penalties);
const IMPORTED = { sourceTable, sourceId, ...VALUES };
/** The imported columns in the order of the statements' parameters, the key first. */
const COLUMNS = Object.keys(IMPORTED) as (keyof typeof IMPORTED)[];

const names = COLUMNS.map((column) => penalties[column].name);
const types = COLUMNS.map((column) => penalties[column].getSQLType());
const values = names.slice(2);
const list = (prefix: string, columns: readonly string[]) =>
  columns.map((name) => `${prefix}${name}`).join(', ');

/** What is written of a penalty that is already stored: unknown values do not replace known ones. */
const SETTLED = COLUMNS.map((column) => {
  const name = penalties[column].name;
  switch (column) {
    case 'adminName':
    case 'adminSteamId':
      return `case when incoming.admin_steamid is null then coalesce(previous.${name}, ${column === 'adminName' ? "''" : 0})
        else incoming.${name} end`;
    case 'liftedAt':
    case 'liftedByName':
    case 'liftedBySteamId':
    case 'liftReason':
      return `case when incoming.status = 'UNBANNED' and incoming.lifted_by_steamid is null
        then coalesce(incoming.${name}, previous.${name}) else incoming.${name} end`;
    default:
      return `incoming.${name}`;
  }
}).join(', ');

/**
 * Joins each row with the stored one of the same key. Equal rows are not even locked: a sweep over a million unchanged
 * rows writes nothing. A row that is seen again is no longer gone. One with another player and another creation is another
 * penalty: sources number from 1 again after a table was emptied.
 */
const COMPARED = `incoming as materialized (
    select * from unnest(${types.map((type, index) => `$${index + 2}::${type}[]`).join(', ')})
      with ordinality as incoming(${list('', names)}, position)
  ), compared as materialized (
    select settled.*, position, previous.id as previous_id, previous.gone_at is not null
      or (${list('previous.', values)}) is distinct from (${list('settled.', values)}) as differs,
      coalesce($${COLUMNS.length + 2}::boolean and previous.player_steamid <> incoming.player_steamid
        and previous.created_at <> incoming.created_at, false) as replaces
    from incoming left join penalties previous
      on previous.source = $1::text and previous.source_table = incoming.source_table and previous.source_id = incoming.source_id
    cross join lateral (select ${SETTLED}) as settled(${list('', names)})
  ), waiting as (
    insert into import_waiting select source_table, source_id from compared where replaces and $${COLUMNS.length + 3}::boolean
    on conflict do nothing returning 1
  )`;

/** Looks each key up by the index: a join may read all rows seen so far, for every page. */
const COMPARE = `with ${COMPARED}, hashed as materialized (
    select compared.*, hashtextextended(row(${list('compared.', values)})::text, 0) as content, import_seen.content as earlier
    from compared left join lateral (
      select content from import_seen
      where import_seen.source_table = compared.source_table and import_seen.source_id = compared.source_id limit 1
    ) as import_seen on true
  ), seen as (
    insert into import_seen select source_table, source_id, content from hashed where not replaces
    on conflict (source_table, source_id) do update set content = excluded.content
  )
  select count(*) filter (where earlier is null and previous_id is null) as added,
    count(*) filter (where case when earlier is null then previous_id is not null and differs and not replaces
      else earlier <> content end) as changed, (select count(*) from waiting) as waiting, null as replaced
  from hashed`;

const WRITE = `with ${COMPARED}, seen as (
    insert into import_seen select source_table, source_id from compared where not replaces
  ), added as (
    insert into penalties (source, ${list('', names)}) select $1, ${list('', names)} from compared
      where previous_id is null order by position returning 1
  ), changed as (
    update penalties set (gone_at, ${list('', values)}) = row(null, ${list('compared.', values)})
    from compared where penalties.id = compared.previous_id and compared.differs and not compared.replaces returning 1
  )
  select (select count(*) from added) as added, (select count(*) from changed) as changed,
    (select count(*) from waiting) as waiting,
    (select array_agg(previous_id)::text from compared where replaces and not $${COLUMNS.length + 3}::boolean) as replaced`;

/** Keeps the last of rows with the same key: one statement would insert both. */
function dropRepeatedKeys(rows: readonly ImportedPenalty[]) {
  const byKey = new Map(rows.map((row) => [`${row.sourceTable}\n${row.sourceId}`, row]));
  return {
    unique: byKey.size === rows.length ? rows : [...byKey.values()],
    repeated: rows.length - byKey.size,
  };
}

function tablesOf(keys: readonly SourceKey[]): string {
  return arrayLiteral(keys.map(({ sourceTable }) => sourceTable));
}

function idsOf(keys: readonly SourceKey[]): string {
  return arrayLiteral(keys.map(({ sourceId }) => sourceId));
}
