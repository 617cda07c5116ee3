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

type WriteCounts = { added: number; changed: number; unchanged: number };

/**
 * Creates the temporary table in which an import notes the rows it has seen; every function below needs it. It belongs
 * to the session, which therefore has to be a single connection. A dry run also notes a hash of what it would have
 * written, with which it compares a row of the same key that comes later.
 * @param idleSeconds how long the session may say nothing before PostgreSQL ends it; 0: for ever.
 */
export async function startImportSession(
  session: Connection,
  { isDryRun, idleSeconds }: { isDryRun: boolean; idleSeconds: number },
): Promise<void> {
  await session`select set_config('idle_session_timeout', ${`${idleSeconds}s`}, false)`;
  await session`create temp table import_seen (source_table text, source_id text, content bigint)`;
  if (isDryRun) await session`create unique index import_seen_key on import_seen (source_table, source_id)`;
}

/**
 * Inserts new rows of a source, updates changed ones, leaves equal ones untouched, and marks all of them as seen, in one
 * statement, so that a killed process loses none. People who were erased are anonymised.
 * @param isDryRun only compares.
 * @param keepsReplaced keeps a penalty whose id the source has given to another one, under an id that no source has, and
 * marks it as gone.
 */
export async function writeImportedPenalties(
  session: Connection,
  source: string,
  rows: readonly ImportedPenalty[],
  { isDryRun, keepsReplaced }: { isDryRun: boolean; keepsReplaced: boolean },
): Promise<WriteCounts> {
  if (rows.length === 0) return { added: 0, changed: 0, unchanged: 0 };
  const { unique, repeated } = dropRepeatedKeys(rows);
  const statement = isDryRun ? COMPARE : WRITE;
  const { added, changed } = await retryVictim(() =>
    session.begin(async (tx) => {
      const anonymised = unique.map(await loadAnonymiser(tx));
      const columns = COLUMNS.map((column) => arrayLiteral(anonymised.map((row) => row[column])));
      const run = async () => {
        const values = [source, ...columns, keepsReplaced];
        const [row] = await tx.unsafe(statement, values, { prepare: true });
        return { added: Number(row?.added), changed: Number(row?.changed), replaced: row?.replaced };
      };
      const first = await run();
      if (first.replaced === null || isDryRun) return first;
      await releaseKeys(tx, String(first.replaced));
      const second = await run();
      return { added: first.added + second.added, changed: first.changed };
    }),
  );
  return { added, changed, unchanged: unique.length - added - changed + repeated };
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
 * Penalties in one step of {@link markGonePenalties}: a step takes seconds at most, and others can write between steps.
 */
const GONE_STEP_ROWS = 100_000;

/**
 * Marks as gone since `now` the rows of a source's tables that the import has not seen. It works in steps: if the
 * process dies, the next import marks the rest.
 * @param isDryRun only counts them.
 * @returns how many.
 */
export async function markGonePenalties(
  session: Connection,
  { source, sourceTables }: { source: string; sourceTables: readonly string[] },
  { now, isDryRun }: { now: Date; isDryRun: boolean },
): Promise<number> {
  // Before version 16, PostgreSQL may compare every row with every other if it has no index and no statistics of penalties.
  await session`create index if not exists import_seen_key on import_seen (source_table, source_id)`;
  await session`analyze import_seen`;
  let goneCount = 0;
  for (let after = '0'; ; ) {
    const [step] = await session`
      select max(id)::text as "upTo"
      from (select id from penalties where id > ${after} order by id limit ${GONE_STEP_ROWS}) as step`;
    if (!step?.upTo) return goneCount;
    const { upTo } = step;
    const isMissed = () => session`
      id > ${after} and id <= ${upTo}
      and source = ${source} and source_table = any(${arrayLiteral(sourceTables)}::text[]) and gone_at is null
      and not exists (
        select from import_seen
        where import_seen.source_table = penalties.source_table and import_seen.source_id = penalties.source_id
      )`;
    const [counted] = isDryRun
      ? await session`select count(*) as gone from penalties where ${isMissed()}`
      : await retryVictim(
          () => session`
            with marked as (
              update penalties set gone_at = ${now.toISOString()}::text::timestamptz where ${isMissed()} returning 1
            )
            select count(*) as gone from marked`,
        );
    goneCount += Number(counted?.gone);
    after = upTo;
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
  )`;

/** Looks each key up by the index: a join may read all rows seen so far, for every page. */
const COMPARE = `with ${COMPARED}, hashed as materialized (
    select compared.*, hashtextextended(row(${list('compared.', values)})::text, 0) as content, import_seen.content as earlier
    from compared left join lateral (
      select content from import_seen
      where import_seen.source_table = compared.source_table and import_seen.source_id = compared.source_id limit 1
    ) as import_seen on true
  ), seen as (
    insert into import_seen select source_table, source_id, content from hashed
    on conflict (source_table, source_id) do update set content = excluded.content
  )
  select count(*) filter (where earlier is null and (previous_id is null or replaces)) as added,
    count(*) filter (where case when earlier is null then previous_id is not null and differs and not replaces
      else earlier <> content end) as changed, null as replaced
  from hashed`;

const WRITE = `with ${COMPARED}, seen as (
    insert into import_seen select source_table, source_id from incoming
  ), added as (
    insert into penalties (source, ${list('', names)}) select $1, ${list('', names)} from compared
      where previous_id is null order by position returning 1
  ), changed as (
    update penalties set (gone_at, ${list('', values)}) = row(null, ${list('compared.', values)})
    from compared where penalties.id = compared.previous_id and compared.differs and not compared.replaces returning 1
  )
  select (select count(*) from added) as added, (select count(*) from changed) as changed,
    (select array_agg(previous_id)::text from compared where replaces) as replaced`;

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
