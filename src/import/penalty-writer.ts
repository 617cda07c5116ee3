import { connect } from '../db/client.ts';
import { retryVictim } from '../db/retry.ts';
import type { penalties } from '../db/schema.ts';

/** A penalty of a source, ready to be kept: `sourceTable` and `sourceId` are its key within the source. */
export type ImportedPenalty = Omit<
  typeof penalties.$inferSelect,
  'id' | 'source' | 'sourceTable' | 'sourceId' | 'goneAt'
> & { sourceTable: string; sourceId: string };

export type WriteCounts = { added: number; changed: number; unchanged: number };

/** Writes one source's penalties; made by {@link openPenaltyWriter}, and closed whatever happens. */
export type PenaltyWriter = {
  /** Adds the new rows, changes the changed, leaves the rest untouched; one statement, so a killed process loses none. */
  write: (rows: readonly ImportedPenalty[]) => Promise<WriteCounts>;
  /** Says that rows are still at the source though they were not written. */
  keep: (rows: readonly { sourceTable: string; sourceId: string }[]) => Promise<void>;
  /** Deletes rows that became part of another row (the halves of a silence). */
  absorb: (rows: readonly { sourceTable: string; sourceId: string }[]) => Promise<void>;
  /** Marks the rows of these tables that neither {@link write} nor {@link keep} met. @returns how many. */
  markGone: (sourceTables: readonly string[], now: Date) => Promise<number>;
  close: () => Promise<void>;
};

/** Two imports of one source at the same time would undo each other's work. */
const IMPORT_LOCK = 727_006;

type Options = {
  isDryRun: boolean;
  /** Whether to wait for another import of the same source, or give up at once. */
  waits: boolean;
  onWait?: (() => void) | undefined;
};

/**
 * Opens a connection that holds the source's lock until the writer is closed.
 * @returns undefined when another import of the source is running and `waits` is false.
 */
export async function openPenaltyWriter(
  databaseUrl: string,
  source: string,
  { isDryRun, waits, onWait }: Options,
): Promise<PenaltyWriter | undefined> {
  const session = connect(databaseUrl, {
    max: 1,
    applicationName: `import ${source}`,
    statementTimeoutMs: 0,
    keepsSession: true,
  });
  try {
    const [lock] =
      await session`select pg_try_advisory_lock(${IMPORT_LOCK}, hashtext(${source})) as "isHeld"`;
    if (!lock?.isHeld) {
      if (!waits) {
        await session.end({ timeout: 5 });
        return undefined;
      }
      onWait?.();
      await session`select pg_advisory_lock(${IMPORT_LOCK}, hashtext(${source}))`;
    }
    await session`create temp table import_seen (source_table text, source_id text)`;
  } catch (error) {
    await session.end({ timeout: 0 });
    throw error;
  }

  return {
    async write(rows) {
      if (rows.length === 0) return { added: 0, changed: 0, unchanged: 0 };
      const { unique, repeated } = dropRepeatedKeys(rows);
      const statement = isDryRun ? COMPARE : WRITE;
      const parameters = [source, ...toColumns(unique)];
      const [counts] = await retryVictim(() => session.unsafe(statement, parameters, { prepare: true }));
      const added = Number(counts?.added);
      const changed = Number(counts?.changed);
      return { added, changed, unchanged: unique.length - added - changed + repeated };
    },
    async keep(rows) {
      if (rows.length === 0) return;
      await session`insert into import_seen select * from unnest(${keysOf(rows, 'sourceTable')}::text::text[], ${keysOf(rows, 'sourceId')}::text::text[])`;
    },
    async absorb(rows) {
      if (rows.length === 0 || isDryRun) return;
      await retryVictim(
        () => session`delete from penalties where source = ${source} and (source_table, source_id) in
          (select * from unnest(${keysOf(rows, 'sourceTable')}::text::text[], ${keysOf(rows, 'sourceId')}::text::text[]))`,
      );
    },
    async markGone(sourceTables, now) {
      await session`analyze import_seen`;
      const missed =
        () => session`source = ${source} and source_table = any(${arrayLiteral(sourceTables)}::text::text[]) and gone_at is null and not exists (
        select from import_seen seen where seen.source_table = penalties.source_table and seen.source_id = penalties.source_id)`;
      const [counted] = isDryRun
        ? await session`select count(*) as gone from penalties where ${missed()}`
        : await retryVictim(
            () => session`with marked as (update penalties set gone_at = ${now.toISOString()}::text::timestamptz where ${missed()} returning 1)
              select count(*) as gone from marked`,
          );
      return Number(counted?.gone);
    },
    close: () => session.end({ timeout: 5 }),
  };
}

/** The columns that an import brings, in the order of the statements' parameters, the key first. */
const COLUMNS = [
  ['sourceTable', 'source_table', 'text'],
  ['sourceId', 'source_id', 'text'],
  ['type', 'type', 'penalty_type'],
  ['status', 'status', 'penalty_status'],
  ['playerName', 'player_name', 'text'],
  ['playerSteamId', 'player_steamid', 'bigint'],
  ['adminName', 'admin_name', 'text'],
  ['adminSteamId', 'admin_steamid', 'bigint'],
  ['reason', 'reason', 'text'],
  ['durationMinutes', 'duration_minutes', 'integer'],
  ['serverId', 'server_id', 'integer'],
  ['createdAt', 'created_at', 'timestamptz'],
  ['endsAt', 'ends_at', 'timestamptz'],
  ['liftedAt', 'lifted_at', 'timestamptz'],
  ['liftedByName', 'lifted_by_name', 'text'],
  ['liftedBySteamId', 'lifted_by_steamid', 'bigint'],
  ['liftReason', 'lift_reason', 'text'],
] as const satisfies readonly (readonly [keyof ImportedPenalty, string, string])[];

const names = COLUMNS.map(([, name]) => name);
const values = names.slice(2);
const list = (prefix: string, columns: readonly string[]) =>
  columns.map((name) => `${prefix}${name}`).join(', ');

/**
 * Each row beside the one of ours with its key. Rows that are equal are not even locked: a sweep over a million
 * unchanged rows writes nothing. A row seen again is not gone any more.
 */
const COMPARED = `incoming as materialized (
    select * from unnest(${COLUMNS.map(([, , type], index) => `$${index + 2}::text::${type}[]`).join(', ')})
      with ordinality as incoming(${list('', names)}, position)
  ), compared as materialized (
    select incoming.*, known.id as known_id, known.gone_at is not null
      or (${list('known.', values)}) is distinct from (${list('incoming.', values)}) as differs
    from incoming left join penalties known
      on known.source = $1::text and known.source_table = incoming.source_table and known.source_id = incoming.source_id
  ), seen as (insert into import_seen select source_table, source_id from incoming)`;

const COMPARE = `with ${COMPARED}
  select count(*) filter (where known_id is null) as added, count(*) filter (where known_id is not null and differs) as changed
  from compared`;

const WRITE = `with ${COMPARED}, added as (
    insert into penalties (source, ${list('', names)}) select $1, ${list('', names)} from compared
      where known_id is null order by position returning 1
  ), changed as (
    update penalties set (gone_at, ${list('', values)}) = row(null, ${list('compared.', values)})
    from compared where penalties.id = compared.known_id and compared.differs returning 1
  )
  select (select count(*) from added) as added, (select count(*) from changed) as changed`;

/** Of rows with one key the last counts: two of them in one statement would be added twice. */
function dropRepeatedKeys(rows: readonly ImportedPenalty[]) {
  const byKey = new Map(rows.map((row) => [`${row.sourceTable}\n${row.sourceId}`, row]));
  return {
    unique: byKey.size === rows.length ? rows : [...byKey.values()],
    repeated: rows.length - byKey.size,
  };
}

function toColumns(rows: readonly ImportedPenalty[]): string[] {
  return COLUMNS.map(([key]) => toArrayLiteral(rows, key));
}

function keysOf(
  rows: readonly { sourceTable: string; sourceId: string }[],
  key: 'sourceTable' | 'sourceId',
): string {
  return arrayLiteral(rows.map((row) => row[key]));
}

function arrayLiteral(texts: readonly string[]): string {
  return `{${texts.map(quoteElement).join(',')}}`;
}

/** PostgreSQL's own notation of an array: one parameter a column instead of one a value. */
function toArrayLiteral(rows: readonly ImportedPenalty[], key: (typeof COLUMNS)[number][0]): string {
  let literal = '{';
  for (const row of rows) {
    if (literal.length > 1) literal += ',';
    const value = row[key];
    if (value === null) literal += 'NULL';
    else if (typeof value === 'string') literal += quoteElement(value);
    else literal += typeof value === 'number' ? value : value.toISOString();
  }
  return `${literal}}`;
}

function quoteElement(value: string): string {
  return /["\\]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : `"${value}"`;
}
