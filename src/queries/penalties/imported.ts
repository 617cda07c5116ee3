import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import type { Db, Tx } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { arrayLiteral } from '../../db/select.ts';
import { loadAnonymiser } from '../personal-data/tombstones.ts';
import { writePenalties } from './write.ts';

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
 * What becomes of a penalty whose id the source has given to another one. It is `updated` where an id always means the same
 * penalty. Otherwise the new one `waits` until the read has ended; then, the stored one is `kept` under an id that no source
 * has, and marked as gone.
 */
export type Replaced = 'updated' | 'waits' | 'kept';

/** How many penalties of a table a full read did not find, and how many are here; then the same for those in force. */
export type TableLosses = {
  sourceTable: string;
  lost: number;
  total: number;
  lostInForce: number;
  totalInForce: number;
};

/**
 * Creates the temporary tables of an import, which every function below needs: the rows of a page that are not stored like
 * this yet, the rows it has seen or that wait, and penalties it has not found. A dry run keeps the rows of all pages, and
 * compares later ones with them.
 * @param session a single connection, to which these tables belong.
 */
export async function startImportSession(session: Db, { isDryRun }: { isDryRun: boolean }): Promise<void> {
  await session.execute(sql`
    create temp table import_page on commit ${sql.raw(isDryRun ? 'preserve' : 'delete')} rows
    as select penalties.*, ''::text as verdict from penalties with no data`);
  if (isDryRun) await session.execute(sql`create index on import_page (source_table, source_id)`);
  await session.execute(
    sql`create temp table import_seen (source_table text, source_id text, waits boolean default false)`,
  );
  await session.execute(sql`create index on import_seen (source_table, source_id) where waits`);
  await session.execute(sql`create temp table import_lost (id bigint primary key, source_table text)`);
}

/**
 * The settings of an import's session. PostgreSQL ends the session, and with it the lock, after `idleSeconds` without a
 * statement (0: never), and within minutes if its machine died, instead of the system's hours.
 */
export const importSettings = (idleSeconds: number): string =>
  `set idle_session_timeout = '${idleSeconds}s'; set tcp_keepalives_idle = '60s'; set tcp_keepalives_interval = '10s';
  set tcp_keepalives_count = 6; set tcp_user_timeout = '2min'`;

/**
 * Inserts new rows of a source, updates changed ones, leaves equal ones untouched, and marks all of them as seen, in one
 * transaction, so that a killed process loses none. People who were erased are anonymised. A page that changes nothing blocks
 * no other writer.
 * @param isDryRun only compares.
 */
export async function writeImportedPenalties(
  session: Db,
  source: string,
  rows: readonly ImportedPenalty[],
  { isDryRun, replaced }: { isDryRun: boolean; replaced: Replaced },
): Promise<WriteCounts> {
  const page = dropRepeatedKeys(rows);
  if (page.length === 0) return { added: 0, changed: 0, unchanged: 0 };
  let verdicts: Verdicts = {};
  const changed = await writePenalties(session, updateStored, {
    unless: async (tx) => {
      verdicts = await judgePage(tx, source, page, { isDryRun, replaced });
      const { added = 0, kept = 0, changed = 0 } = verdicts;
      return isDryRun || added + kept + changed === 0 ? changed : undefined;
    },
  });
  const { added = 0, kept = 0, waits = 0 } = verdicts;
  return { added: added + kept, changed, unchanged: rows.length - added - kept - waits - changed };
}

/** What a row is to the penalty that is stored under its key; `waits` and `kept` as in {@link Replaced}. */
type Verdicts = Partial<Record<'added' | 'changed' | 'unchanged' | 'waits' | 'kept', number>>;

/**
 * Compares a page with what is stored, fills `import_page` with the rows to be written, and counts all by verdict. A row that
 * is seen again is no longer gone. One with another player and another creation is another penalty: sources number from 1
 * again after a table was emptied. Unknown values do not replace known ones. `offset 0` makes PostgreSQL look each key up by
 * the index; joined otherwise, it may read the whole source for every page.
 */
async function judgePage(
  tx: Tx,
  source: string,
  page: readonly ImportedPenalty[],
  { isDryRun, replaced }: { isDryRun: boolean; replaced: Replaced },
): Promise<Verdicts> {
  const rows = page.map(await loadAnonymiser(tx));
  const values = COLUMNS.map(
    (column) =>
      sql`${arrayLiteral(rows.map((row) => row[column]))}::${sql.raw(penalties[column].getSQLType())}[]`,
  );
  const stored = (table: SQL) => sql`
    select id, gone_at, ${NAMES} from ${table}
    where source = ${source} and source_table = incoming.source_table and source_id = incoming.source_id`;
  const earlier = isDryRun ? sql`(${stored(sql`import_page`)} order by ctid desc limit 1) union all` : sql``;
  const counts = await tx.execute<{ verdict: keyof Verdicts; count: number }>(sql`
    with judged as materialized (
      select previous.id, settled.*, case
        when previous.source_id is null then 'added'
        when ${replaced} <> 'updated' and previous.player_steamid <> settled.player_steamid
          and previous.created_at <> settled.created_at then ${replaced}
        when previous.gone_at is not null or (${VALUES.of('previous')}) is distinct from (${VALUES.of('settled')}) then 'changed'
        else 'unchanged'
      end as verdict
      from unnest(${sql.join(values, sql`, `)}) as incoming(${NAMES})
      left join lateral (${earlier} ${stored(sql`penalties`)} offset 0) as previous on true
      cross join lateral (select ${SETTLED}) as settled(${NAMES})
    ), seen as (
      insert into import_seen select source_table, source_id, verdict = 'waits' from judged
    ), filled as (
      insert into import_page (source, id, ${NAMES}, verdict)
      select ${source}, judged.* from judged where verdict not in ('unchanged', 'waits')
    )
    select verdict, count(*)::integer from judged group by verdict`);
  return Object.fromEntries(counts.map(({ verdict, count }) => [verdict, count]));
}

/** Writes the rows of `import_page`. @returns how many stored penalties it updated. */
async function updateStored(tx: Tx): Promise<number> {
  await tx.execute(sql`
    update penalties set source_id = page.source_id || ' (penalty ' || page.id || ')', gone_at = coalesce(penalties.gone_at, now())
    from import_page as page where penalties.id = page.id and verdict = 'kept'`);
  // A row may have changed while this waited for other writers.
  const { count } = await tx.execute(sql`
    update penalties set (gone_at, ${VALUES.names}) = row(null, ${VALUES.of('page')})
    from import_page as page where penalties.id = page.id and verdict = 'changed'
      and (penalties.gone_at is not null or (${VALUES.of('penalties')}) is distinct from (${VALUES.of('page')}))`);
  await tx.execute(sql`
    insert into penalties (source, ${NAMES}) select source, ${NAMES} from import_page
    where verdict in ('added', 'kept') order by ctid`);
  return count;
}

const { id, source, goneAt, sourceTable, sourceId, ...CONTENT } = getTableColumns(penalties);
const IMPORTED = { sourceTable, sourceId, ...CONTENT };
const COLUMNS = Object.keys(IMPORTED) as (keyof typeof IMPORTED)[];
const list = (columns: object, toText: (name: string) => string) =>
  sql.raw(
    Object.values(columns)
      .map(({ name }) => toText(name))
      .join(', '),
  );

const NAMES = list(IMPORTED, (name) => name);
/** What a source says of a penalty. */
const VALUES = {
  names: list(CONTENT, (name) => name),
  of: (table: string) => list(CONTENT, (name) => `${table}.${name}`),
};
/** What is stored of a row. */
const SETTLED = list(IMPORTED, (name) => {
  switch (name) {
    case 'admin_name':
    case 'admin_steamid':
      return `case when incoming.admin_steamid is null then coalesce(previous.${name}, ${name === 'admin_name' ? "''" : 0})
        else incoming.${name} end`;
    case 'lifted_at':
    case 'lifted_by_name':
    case 'lifted_by_steamid':
    case 'lift_reason':
      return `case when incoming.status = 'UNBANNED' and incoming.lifted_by_steamid is null
        then coalesce(incoming.${name}, previous.${name}) else incoming.${name} end`;
    default:
      return `incoming.${name}`;
  }
});

/** Keeps the last of rows with the same key: one statement would insert both. */
function dropRepeatedKeys(rows: readonly ImportedPenalty[]): readonly ImportedPenalty[] {
  const byKey = new Map(rows.map((row) => [`${row.sourceTable}\n${row.sourceId}`, row]));
  return byKey.size === rows.length ? rows : [...byKey.values()];
}

/** The stored penalties of a source that have one of these keys. */
export async function listImportedPenalties(
  db: Db,
  source: string,
  keys: readonly SourceKey[],
): Promise<ImportedPenalty[]> {
  if (keys.length === 0) return [];
  const rows = await db.select(IMPORTED).from(penalties).where(hasKey(source, keys));
  return rows.map((row) => ({ ...row, sourceTable: row.sourceTable ?? '', sourceId: row.sourceId ?? '' }));
}

/** Records as seen the rows that were not written. */
export async function markSeen(session: Db, keys: readonly SourceKey[]): Promise<void> {
  if (keys.length > 0) await session.execute(sql`insert into import_seen ${selectKeys(keys)}`);
}

/** Deletes rows of a source. */
export async function deleteImportedPenalties(
  session: Db,
  source: string,
  keys: readonly SourceKey[],
): Promise<void> {
  if ((await listImportedPenalties(session, source, keys)).length === 0) return;
  await writePenalties(session, (tx) => tx.delete(penalties).where(hasKey(source, keys)));
}

function hasKey(source: string, keys: readonly SourceKey[]): SQL {
  return sql`${penalties.source} = ${source} and (${penalties.sourceTable}, ${penalties.sourceId}) in (${selectKeys(keys)})`;
}

function selectKeys(keys: readonly SourceKey[]): SQL {
  const tables = arrayLiteral(keys.map(({ sourceTable }) => sourceTable));
  const ids = arrayLiteral(keys.map(({ sourceId }) => sourceId));
  return sql`select * from unnest(${tables}::text[], ${ids}::text[])`;
}

/**
 * Notes the penalties of a source's tables that a full read has not seen, and counts them. Rows that wait were not seen.
 */
export async function findLostPenalties(
  session: Db,
  { source, sourceTables }: { source: string; sourceTables: readonly string[] },
  now: Date,
): Promise<TableLosses[]> {
  // Before version 16, PostgreSQL may compare every row with every other if it has no index and no statistics of penalties.
  await session.execute(
    sql`create index if not exists import_seen_key on import_seen (source_table, source_id)`,
  );
  await session.execute(sql`analyze import_seen`);
  const isHere = sql`source = ${source} and ${isOfTables(sourceTables)} and gone_at is null`;
  await session.execute(sql`
    insert into import_lost select id, source_table from penalties where ${isHere} and not exists (
      select from import_seen
      where not waits and import_seen.source_table = penalties.source_table and import_seen.source_id = penalties.source_id
    )`);
  return session.execute<TableLosses>(sql`
    select source_table as "sourceTable", count(*)::integer as total, count(lost.id)::integer as lost,
      (count(*) filter (where is_in_force))::integer as "totalInForce",
      (count(lost.id) filter (where is_in_force))::integer as "lostInForce"
    from (
      select id, source_table, status = 'ACTIVE' and (ends_at is null or ends_at > ${now.toISOString()}::text::timestamptz)
        as is_in_force
      from penalties where ${isHere}
    ) as here left join import_lost lost using (id, source_table)
    group by source_table`);
}

/** Whether any row waits. */
export async function hasWaitingRows(session: Db): Promise<boolean> {
  return (await session.execute(sql`select from import_seen where waits limit 1`)).length > 0;
}

/** The ids of a table's rows that wait, in pages. */
export async function listWaitingIds(
  session: Db,
  sourceTable: string,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const rows = await session.execute<{ id: string }>(sql`
    select distinct source_id as id from import_seen
    where waits and source_table = ${sourceTable} and source_id > ${after} order by source_id limit ${limit}`);
  return rows.map((row) => row.id);
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
  session: Db,
  sourceTables: readonly string[],
  { now, isDryRun }: { now: Date; isDryRun: boolean },
): Promise<number> {
  const lost = sql`from import_lost where ${isOfTables(sourceTables)}`;
  const willBeSeen = sql`exists (select from import_seen join penalties using (source_table, source_id)
    where waits and penalties.id = import_lost.id)`;
  const [row] = await session.execute<{ amount: number }>(sql`
    select count(*)::integer as amount ${lost} and not (${isDryRun} and ${willBeSeen})`);
  const amount = row?.amount ?? 0;
  if (isDryRun) return amount;
  let goneCount = 0;
  for (let done = 0; done < amount; done += GONE_STEP_ROWS) {
    goneCount += await writePenalties(session, async (tx) => {
      const { count } = await tx.execute(sql`
        with step as (
          delete from import_lost where id in (select id ${lost} limit ${GONE_STEP_ROWS}) returning id
        )
        update penalties set gone_at = ${now.toISOString()}::text::timestamptz from step
        where penalties.id = step.id and gone_at is null`);
      return count;
    });
  }
  return goneCount;
}

/** The share at which autovacuum would do it, but only after a minute. */
const ANALYZED_SHARE = 0.1;

/**
 * Updates the statistics of penalties and of their players' names after an import that changed a good part of them: lists and
 * searches would be slow until autovacuum does it.
 */
export async function analyzePenalties(session: Db, changedRows: number): Promise<void> {
  const [row] = await session.execute<{ rows: number }>(
    sql`select reltuples as rows from pg_class where oid = 'penalties'::regclass`,
  );
  if (changedRows === 0 || changedRows < (row?.rows ?? 0) * ANALYZED_SHARE) return;
  await session.execute(sql`analyze penalties, player_names`);
}

function isOfTables(sourceTables: readonly string[]): SQL {
  return sql`source_table = any(${arrayLiteral(sourceTables)}::text[])`;
}
