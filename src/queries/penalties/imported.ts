import { getTableColumns, type SQL, sql } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { arrayLiteral } from '../../db/select.ts';
import { UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import { loadAnonymiser } from '../personal-data/tombstones.ts';
import { liftedByRemoval, statusSql } from './filter.ts';
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
    /**
     * The creation time in the row. `absent`: the source has no such time, or rewrites it. Undefined where an id
     * always means the same penalty.
     */
    creation?: 'known' | 'absent' | 'unreadable' | undefined;
  };

/** What a row says about which penalty it is, as far as it can be read. */
export type RowIdentity = SourceKey &
  Pick<ImportedPenalty, 'playerName' | 'playerSteamId' | 'reason' | 'creation'> &
  Partial<Pick<ImportedPenalty, 'type' | 'durationMinutes' | 'createdAt'>>;

/** Some rows of a source. */
export type ImportedPage = {
  rows: ImportedPenalty[];
  /** Further rows of penalties that consist of several: what an earlier import stored of them is deleted. */
  merged: RowIdentity[];
  /** Rows that are not imported. */
  unreadable: RowIdentity[];
};

type PageOptions = {
  /** Compare without writing. */
  isDryRun: boolean;
  /** Notes which penalties were seen, for {@link findLostPenalties}. */
  isFullRead: boolean;
  /** Looks up at the source which of these penalties are no longer in the row with their key. @returns their ids. */
  listRowless: (twins: readonly Twin[]) => Promise<ReadonlySet<string>>;
};

/** What a page changes. `movedAside`: penalties whose row is gone, or is now another penalty. */
type WriteCounts = { added: number; changed: number; unchanged: number; movedAside: number };

/** How many penalties of a table there are, and how many of them are in force. */
type TableCounts = { sourceTable: string; all: number; inForce: number };

/**
 * Prepares a session for {@link writeImportedPage}. A dry run collects the rows that it would have written in a temporary
 * table, and compares later ones with them.
 * @param session a single connection.
 * @param options.isRezoned changes of times alone are silent.
 * @returns the largest id of a penalty: this import adds those with larger ones.
 */
export async function startImportSession(
  session: Db,
  { isDryRun, isRezoned }: { isDryRun: boolean; isRezoned: boolean },
): Promise<string> {
  if (isRezoned) await session.execute("set community_api.times_are_silent = 'on'");
  if (isDryRun) {
    await session.execute(sql`create temp table import_page as select * from penalties with no data`);
    await session.execute(sql`create index on import_page (source_table, source_id)`);
    await session.execute(sql`create index on import_page (id) where id is not null`);
  }
  const [row] = await session.execute<{ id: string }>(
    sql`select coalesce(max(id), 0)::text as id from penalties`,
  );
  return row?.id ?? '0';
}

/**
 * The settings of an import's session. PostgreSQL ends the session, and with it the lock, after `idleSeconds` without a
 * statement (0: never), and within minutes if its machine died, instead of the system's hours.
 */
export const importSettings = (idleSeconds: number): string =>
  `set idle_session_timeout = '${idleSeconds}s'; set tcp_keepalives_idle = '60s'; set tcp_keepalives_interval = '10s';
  set tcp_keepalives_count = 6; set tcp_user_timeout = '2min'`;

/**
 * Inserts new rows of a source, updates changed ones, leaves equal ones untouched, and moves penalties aside that have lost
 * their row, in one transaction. People who were erased are anonymised. A page that changes nothing writes nothing and
 * blocks no other writer.
 */
export async function writeImportedPage(
  session: Db,
  source: string,
  { rows, merged, unreadable }: ImportedPage,
  { isDryRun, isFullRead, listRowless }: PageOptions,
): Promise<WriteCounts> {
  // Of rows with the same key only the last one, since one statement would insert them all.
  const byKey = new Map(rows.map((row) => [`${row.sourceTable}\n${row.sourceId}`, row]));
  const page = [...byKey.values(), ...unreadable];
  if (page.length + merged.length === 0) return { added: 0, changed: 0, unchanged: 0, movedAside: 0 };
  /** Whether penalties that rows may take up are in no row any more. */
  const isRowless = new Map<string, boolean>();
  const options = { mergedAfter: page.length, isRowless };
  for (;;) {
    let plan = planPage([], [], options);
    const changed = await writePenalties(session, (tx) => writePlan(tx, source, plan), {
      unless: async (tx) => {
        const incoming = await toIncoming(tx, [...page, ...merged]);
        const compared = await comparePage(tx, source, incoming, { isDryRun, isFullRead });
        plan = planPage(incoming, compared, options);
        if (plan.unclear.length > 0) return 0;
        if (isFullRead && plan.takenUp.length > 0) {
          await tx.execute(
            sql`insert into import_seen select unnest(${arrayLiteral(plan.takenUp)}::bigint[])`,
          );
        }
        if (isDryRun) return collectPlan(tx, source, plan);
        const writes = [plan.added, plan.updated, plan.aside, plan.deleted];
        return writes.every(({ length }) => length === 0) ? 0 : undefined;
      },
    });
    const { added, unclear, movedAside } = plan;
    if (unclear.length === 0) {
      return { added: added.length, changed, unchanged: rows.length - added.length - changed, movedAside };
    }
    const rowless = await listRowless(unclear);
    for (const { id } of unclear) isRowless.set(id, rowless.has(id));
  }
}

/** A row as it is compared; one that is not imported has only its identity, and no status. */
type Incoming = SourceKey & Pick<ImportedPenalty, 'playerName' | 'playerSteamId'> & Partial<ImportedPenalty>;

/** A stored penalty that may be the one of a row with another id. */
export type Twin = SourceKey & {
  id: string;
  /** The penalty was removed or moved aside. */
  isFree: boolean;
};

/** A row that differs from what is stored, by its position from 1, with the penalty that is stored under its key. */
type ComparedRow = {
  place: number;
  id: string | null;
  isSame: boolean;
  isGone: boolean;
  /** Only of rows that have no penalty under their key. */
  twins: Twin[] | null;
};

/** What is to be written of a page. */
type Plan = {
  added: Incoming[];
  /** `id` is null for a penalty that a dry run would have added. */
  updated: { id: string | null; row: Incoming }[];
  /** Penalties that lose their key, because its row is now another penalty or because a row with another id takes them up. */
  aside: string[];
  /** Parts of penalties that consist of several rows now. */
  deleted: string[];
  /** Ids in `updated` whose row has another id than before. */
  takenUp: string[];
  movedAside: number;
  /** Twins that may still have a row: the source has to be asked before anything is written. */
  unclear: Twin[];
};

/**
 * Decides what becomes of the rows of a page. A row that is not the penalty under its key takes up the first twin that is
 * removed or in no row any more; without one it is a new penalty.
 * @param options.mergedAfter the rows after this place are those of `ImportedPage.merged`.
 */
function planPage(
  incoming: readonly Incoming[],
  compared: readonly ComparedRow[],
  { mergedAfter, isRowless }: { mergedAfter: number; isRowless: ReadonlyMap<string, boolean> },
): Plan {
  const plan: Plan = {
    ...{ added: [], updated: [], aside: [], deleted: [] },
    ...{ takenUp: [], movedAside: 0, unclear: [] },
  };
  const isMerged = ({ place }: ComparedRow) => place > mergedAfter;
  const idsOf = (belongs: (row: ComparedRow) => boolean) =>
    new Set(compared.flatMap((row) => (row.id && belongs(row) ? [row.id] : [])));
  const halves = idsOf((row) => row.isSame && isMerged(row));
  const unavailable = idsOf((row) => row.isSame && !isMerged(row));
  const aside = idsOf(({ isSame }) => !isSame);
  for (const [id, isWithoutRow] of isRowless) if (isWithoutRow) aside.add(id);
  const isFree = (twin: Twin) => twin.isFree || aside.has(twin.id) || halves.has(twin.id);
  const takenUp = new Set<string>();
  for (const { place, id, isSame, twins } of compared) {
    const row = incoming[place - 1];
    if (!row?.status) continue;
    if (isSame) {
      plan.updated.push({ id, row });
      continue;
    }
    const available = (twins ?? []).filter((twin) => !unavailable.has(twin.id));
    plan.unclear.push(...available.filter((twin) => !isFree(twin) && !isRowless.has(twin.id)));
    const twin = available.find(isFree);
    if (twin) {
      unavailable.add(twin.id);
      takenUp.add(twin.id);
      plan.updated.push({ id: twin.id, row });
    } else plan.added.push(row);
  }
  plan.takenUp = [...takenUp];
  plan.deleted = [...halves.difference(takenUp)];
  plan.movedAside = aside.difference(idsOf(({ isGone }) => isGone)).difference(takenUp).size;
  plan.aside = [...aside.union(takenUp)];
  return plan;
}

/** @returns how many stored penalties it updated. */
async function writePlan(tx: Tx, source: string, { added, updated, aside, deleted }: Plan): Promise<number> {
  if (deleted.length > 0) await tx.delete(penalties).where(hasId(deleted));
  if (aside.length > 0) {
    await tx.execute(sql`
      update penalties set source_id = source_id || ' (penalty ' || id || ')' where ${hasId(aside)} and not ${IS_ASIDE}`);
  }
  // A row may have changed while this waited for other writers.
  const { count } =
    updated.length === 0
      ? { count: 0 }
      : await tx.execute(sql`
        update penalties set (gone_at, source_id, ${VALUES.names}) = row(null, incoming.source_id, ${settled('penalties')})
        from ${unnest(updated.map(({ row }) => row))}
        join unnest(${arrayLiteral(updated.map((each) => each.id))}::bigint[]) with ordinality as target(id, place) using (place)
        where penalties.id = target.id and (penalties.gone_at is not null or penalties.source_id <> incoming.source_id
          or (${VALUES.of('penalties')}) is distinct from (${settled('penalties')}))`);
  if (added.length > 0) {
    await tx.execute(sql`
      insert into penalties (source, ${NAMES}) select ${source}, ${NAMES} from ${unnest(added.map(withAdmin))} order by place`);
  }
  return count;
}

/** Collects what a dry run would write. @returns how many stored penalties it would update. */
async function collectPlan(tx: Tx, source: string, { added, updated }: Plan): Promise<number> {
  const rows = [...updated, ...added.map((row) => ({ id: null, row: withAdmin(row) }))];
  if (rows.length > 0) {
    await tx.execute(sql`
      insert into import_page (source, id, ${NAMES}) select ${source}, target.id, ${NAMES} from ${unnest(rows.map(({ row }) => row))}
      join unnest(${arrayLiteral(rows.map((each) => each.id))}::bigint[]) with ordinality as target(id, place) using (place)`);
  }
  return updated.length;
}

/** A new penalty whose source does not know the admin has none. */
function withAdmin(row: Incoming): Incoming {
  return row.adminSteamId === null ? { ...row, adminName: '', adminSteamId: UNKNOWN_STEAM_ID } : row;
}

async function toIncoming(tx: Tx, rows: readonly (ImportedPenalty | RowIdentity)[]): Promise<Incoming[]> {
  const anonymise = await loadAnonymiser(tx);
  return rows.map((row) => anonymise({ ...NOBODY, ...row }));
}

const NOBODY = { adminName: '', adminSteamId: null, liftedByName: null, liftedBySteamId: null };

async function comparePage(
  tx: Tx,
  source: string,
  incoming: readonly Incoming[],
  { isDryRun, isFullRead }: { isDryRun: boolean; isFullRead: boolean },
): Promise<ComparedRow[]> {
  const seen = isFullRead
    ? sql`, seen as (insert into import_seen select id from compared where is_same and id is not null)`
    : sql``;
  const isTakenUp = isDryRun
    ? sql`exists (select from import_page where import_page.id = twin.id)`
    : sql`false`;
  const rows = await tx.execute<ComparedRow>(sql`
    with compared as materialized (${buildComparison(source, incoming, { isDryRun })}) ${seen}
    select place::integer as place, id::text as id, is_same as "isSame", is_gone as "isGone", twins from compared
    left join lateral (
      select json_agg(json_build_object('id', twin.id::text, 'sourceTable', twin.source_table, 'sourceId', twin.source_id,
        'isFree', twin.gone_at is not null or ${isAside('twin')}) order by twin.id) as twins
      from penalties as twin
      where not is_same and compared.creation is not null and compared.player_steamid <> 0 and twin.source = ${source}
        and (twin.player_steamid, twin.created_at, twin.type) = (compared.player_steamid, compared.created_at, compared.type)
        and (twin.duration_minutes, twin.source_table) = (compared.duration_minutes, compared.source_table) and not ${isTakenUp}
    ) as alike on status is not null
    where status is null or not is_same or is_changed order by place`);
  return [...rows];
}

/** The penalties that are stored under the keys of these rows, if they are the same ones. */
export async function listSamePenalties(
  db: Db,
  source: string,
  rows: readonly RowIdentity[],
): Promise<(ImportedPenalty & { id: number })[]> {
  if (rows.length === 0) return [];
  const stored = await inTransaction(db, async (tx) => {
    const same = buildComparison(source, await toIncoming(tx, rows), { isDryRun: false });
    const isSame = sql`id in (select compared.id from (${same}) as compared where is_same)`;
    return tx
      .select({ id: penalties.id, ...IMPORTED })
      .from(penalties)
      .where(isSame);
  });
  return stored.map((row) => ({ ...row, sourceTable: row.sourceTable ?? '', sourceId: row.sourceId ?? '' }));
}

/**
 * Each row beside the penalty that is stored under its key. Unknown values do not replace known ones. `limit 1` makes
 * PostgreSQL look each key up by the index; joined otherwise, it may read the whole source for every page.
 */
function buildComparison(
  source: string,
  incoming: readonly Incoming[],
  { isDryRun }: { isDryRun: boolean },
): SQL {
  const stored = (table: SQL) => sql`
    select id, gone_at, ${NAMES} from ${table}
    where source = ${source} and source_table = incoming.source_table and source_id = incoming.source_id`;
  const earlier = isDryRun ? sql`(${stored(sql`import_page`)} order by ctid desc limit 1) union all` : sql``;
  return sql`
    select place, incoming.status, incoming.creation, incoming.source_table, incoming.player_steamid, incoming.created_at,
      incoming.type, incoming.duration_minutes, previous.id, previous.gone_at is not null as is_gone,
      previous.source_id is not null and coalesce(${IS_SAME}, false) as is_same,
      previous.gone_at is not null or (${VALUES.of('previous')}) is distinct from (${settled('previous')}) as is_changed
    from ${unnest(incoming)} left join lateral (${earlier} ${stored(sql`penalties`)} limit 1) as previous on true`;
}

/** Rows as a table of the statement, `incoming`. */
function unnest(rows: readonly Incoming[]): SQL {
  const columns = COLUMNS.map((name) => {
    const type = name === 'creation' ? 'text' : penalties[name].getSQLType();
    return sql`${arrayLiteral(rows.map((row) => row[name] ?? null))}::${sql.raw(type)}[]`;
  });
  return sql`unnest(${sql.join(columns, sql`, `)}) with ordinality as incoming(${NAMES}, creation, place)`;
}

const { id, source, goneAt, sourceTable, sourceId, ...CONTENT } = getTableColumns(penalties);
const IMPORTED = { sourceTable, sourceId, ...CONTENT };
const COLUMNS = [...(Object.keys(IMPORTED) as (keyof typeof IMPORTED)[]), 'creation'] as const;
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
/** What is stored of a row of `incoming`, in place of what was stored before. */
function settled(stored: string): SQL {
  return list(CONTENT, (name) => {
    switch (name) {
      case 'admin_name':
      case 'admin_steamid':
        return `case when incoming.admin_steamid is null then ${stored}.${name} else incoming.${name} end`;
      case 'lifted_at':
      case 'lifted_by_name':
      case 'lifted_by_steamid':
      case 'lift_reason':
        return `case when incoming.status = 'UNBANNED' and incoming.lifted_by_steamid is null
          then coalesce(incoming.${name}, case when not ${liftedByRemoval(stored)} then ${stored}.${name} end)
          else incoming.${name} end`;
      default:
        return `incoming.${name}`;
    }
  });
}

const SAME_TERMS = sql`(incoming.type, incoming.duration_minutes, incoming.reason)
  is not distinct from (previous.type, previous.duration_minutes, previous.reason)`;

/**
 * Whether a row is the penalty that is stored under its key: the same player, and the same creation time, or that
 * time in another time zone. Sources number from 1 again after a table was emptied.
 */
const IS_SAME = sql`(incoming.creation is null or (
  (incoming.player_steamid <> 0 and incoming.player_steamid = previous.player_steamid)
  or (incoming.creation <> 'unreadable' and (
    (incoming.player_name <> '' and incoming.player_name = previous.player_name)
    or (incoming.player_steamid = 0 and previous.player_steamid = 0 and ${SAME_TERMS})))
) and case incoming.creation
  when 'known' then abs(extract(epoch from incoming.created_at - previous.created_at)) <= 26 * 3600
    and extract(epoch from incoming.created_at - previous.created_at) % 900 = 0
  when 'absent' then ${SAME_TERMS}
  else true
end)`;

/** Whether a penalty has lost its key to another one. */
function isAside(table: string): SQL {
  const name = sql.raw(table);
  return sql`${name}.source_id like '% (penalty ' || ${name}.id || ')'`;
}
export const IS_ASIDE = isAside('penalties');

function hasId(ids: readonly string[]): SQL {
  return sql`${penalties.id} = any(${arrayLiteral(ids)}::bigint[])`;
}

/** The tables of a source that are read whole, and the largest id of a penalty before. */
type FullRead = { source: string; sourceTables: readonly string[]; newestId: string };

/**
 * Begins a full read of some tables, with temporary tables of the penalties that it sees, and of those that it does
 * not.
 * @returns how many are stored here. Of penalties that had the same id at the source one after the other, one counts.
 */
export async function startFullRead(session: Db, read: FullRead, now: Date): Promise<TableCounts[]> {
  await session.execute(sql`create temp table import_seen (id bigint)`);
  await session.execute(sql`create temp table import_lost (id bigint primary key, source_table text)`);
  const isCountedAlready = sql`${IS_ASIDE} and exists (select from penalties as holder
    where (holder.source, holder.source_table) = (penalties.source, penalties.source_table) and holder.gone_at is null
      and holder.source_id = regexp_replace(penalties.source_id, ' [(]penalty [0-9]+[)]$', '') and holder.id <= ${read.newestId})`;
  return countTables(session, sql`penalties where ${isHere(read)} and not (${isCountedAlready})`, now);
}

/** Notes the penalties that a full read has not seen, and counts them. */
export async function findLostPenalties(session: Db, read: FullRead, now: Date): Promise<TableCounts[]> {
  // Before version 16, PostgreSQL may compare every row with every other if it has no index and no statistics of penalties.
  await session.execute(sql`create index on import_seen (id)`);
  await session.execute(sql`analyze import_seen`);
  await session.execute(sql`
    insert into import_lost select id, source_table from penalties
    where ${isHere(read)} and not exists (select from import_seen where import_seen.id = penalties.id)`);
  return countTables(session, sql`penalties where id in (select id from import_lost)`, now);
}

async function countTables(session: Db, from: SQL, now: Date): Promise<TableCounts[]> {
  const isInForce = sql`${statusSql(sql`${now.toISOString()}::text::timestamptz`)} = 'ACTIVE'`;
  return session.execute<TableCounts>(sql`
    select source_table as "sourceTable", count(*)::integer as all, (count(*) filter (where ${isInForce}))::integer as "inForce"
    from ${from} group by source_table`);
}

function isHere({ source, sourceTables, newestId }: FullRead): SQL {
  return sql`source = ${source} and ${isOfTables(sourceTables)} and gone_at is null and id <= ${newestId}`;
}

/** Penalties in one step of {@link markGonePenalties}: others wait for one at most, and write between steps. */
const GONE_STEP_ROWS = 5000;

/**
 * Marks as gone since `now` what {@link findLostPenalties} noted of some tables, except penalties that were seen since. It
 * works in steps: if the process dies, the next import marks the rest.
 * @param losses what that returned of these tables.
 * @param isDryRun only counts them.
 * @returns how many.
 */
export async function markGonePenalties(
  session: Db,
  losses: readonly TableCounts[],
  { now, isDryRun }: { now: Date; isDryRun: boolean },
): Promise<number> {
  const amount = losses.reduce((sum, { all }) => sum + all, 0);
  if (isDryRun) return amount;
  const isOfLosses = isOfTables(losses.map(({ sourceTable }) => sourceTable));
  let goneCount = 0;
  for (let done = 0; done < amount; done += GONE_STEP_ROWS) {
    goneCount += await writePenalties(session, async (tx) => {
      const { count } = await tx.execute(sql`
        with step as (
          delete from import_lost
          where id in (select id from import_lost where ${isOfLosses} limit ${GONE_STEP_ROWS}) returning id
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
  if (changedRows === 0) return;
  const [row] = await session.execute<{ rows: number }>(
    sql`select reltuples as rows from pg_class where oid = 'penalties'::regclass`,
  );
  if (changedRows < (row?.rows ?? 0) * ANALYZED_SHARE) return;
  await session.execute(sql`analyze penalties, player_names`);
}

function isOfTables(sourceTables: readonly string[]): SQL {
  return sql`source_table = any(${arrayLiteral(sourceTables)}::text[])`;
}
