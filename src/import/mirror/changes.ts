import type { Db } from '../../db/client.ts';
import { listActivePenaltyKeys } from '../../queries/penalties/sources.ts';
import { findSetting, saveSetting } from '../../queries/settings.ts';
import type { ImportRun } from '../import-run.ts';
import { readSourcePages, type SourceDatabase, type SourceRow, type SourceTable } from '../source/tables.ts';
import { findRowsById, importRows, type OpenTable, type SourceSystem } from '../source-system.ts';

/** The progress of a mirror, stored in the database so that it continues after a restart or in another process. */
export type MirrorState = {
  /** Identifies the source: with a new address the mirror starts from the beginning. */
  source: string;
  /** When every row was last read, ISO 8601. */
  sweptAt: string;
  /** When this was saved, ISO 8601; absent before. */
  savedAt?: string;
  /** The source's own clock, in Unix seconds, at the beginning of the last round. */
  sourceSeconds: number;
  tables: Record<string, TableState>;
};

/**
 * The largest id read; the id up to which our active penalties were looked up; the id up to which the source's active
 * rows were compared.
 */
type TableState = { lastId: number; activeCursor: number; sourceCursor: number };

const keyOf = (kind: SourceSystem['kind']) => `mirror.${kind}`;

/**
 * Loads the state of a mirror.
 * @param onUnreadable called when there is one that cannot be read.
 * @returns undefined when it last mirrored another source, or none.
 */
export async function loadMirrorState(
  db: Db,
  kind: SourceSystem['kind'],
  source: string,
  onUnreadable: () => void,
): Promise<MirrorState | undefined> {
  const text = await findSetting(db, keyOf(kind));
  if (text === undefined) return undefined;
  const state = tryParseState(text);
  if (!state) onUnreadable();
  return state?.source === source ? state : undefined;
}

function tryParseState(text: string): MirrorState | undefined {
  try {
    const state: MirrorState = JSON.parse(text);
    const places = Object.values(state.tables).flatMap(({ lastId, activeCursor, sourceCursor }) => [
      lastId,
      activeCursor,
      sourceCursor,
    ]);
    const isWhole = [state.sourceSeconds, Date.parse(state.sweptAt), ...places].every(Number.isFinite);
    return isWhole && typeof state.source === 'string' ? state : undefined;
  } catch {
    return undefined;
  }
}

/** Saves the state of a mirror in place of its previous one. */
export async function saveMirrorState(db: Db, kind: SourceSystem['kind'], state: MirrorState): Promise<void> {
  await saveSetting(db, keyOf(kind), JSON.stringify(state));
}

/** Ids are assigned before rows are committed, so a row may appear after one with a larger id. */
const ID_OVERLAP = 500;
/** For the same reason rows with an older time of change may appear late. */
const SECONDS_OVERLAP = 300;
/** How many active penalties of a table are compared in one round: of ours, and of the source's. */
const ACTIVE_WINDOW = 5000;
const LOOKUP_IDS = 500;

/** How a round reads one table. */
type Reading = {
  run: ImportRun;
  database: SourceDatabase;
  table: OpenTable;
  pageRows: number;
  /** The ids of the rows that this round has imported. */
  ids: Set<string>;
};

/**
 * Imports what changed since the last round:
 * - new rows, by their ids;
 * - changed rows, where the source records the time of every change;
 * - rows that are active at the source, some per round: they may be active again, or we may have expired them too early;
 * - our active penalties, some per round.
 * @returns the state for the next round, and whether any of our active penalties was not found.
 */
export async function importChanges(
  run: ImportRun,
  database: SourceDatabase,
  tables: readonly OpenTable[],
  { state, pageRows }: { state: MirrorState; pageRows: number },
): Promise<{ next: MirrorState; isMissing: boolean }> {
  const sourceSeconds = await loadSourceClock(database);
  const next: MirrorState = { ...state, sourceSeconds, tables: {} };
  let isMissing = false;
  for (const table of tables) {
    const { source, key, isChangedSince, isActiveAt } = table;
    const reading: Reading = { run, database, table, pageRows, ids: new Set() };
    const before = state.tables[source.name] ?? START;
    let { lastId } = before;
    const after = before.lastId - ID_OVERLAP;
    for await (const page of readSourcePages(database, source, { key, after, pageRows })) {
      await importOnce(reading, page);
      lastId = Math.max(lastId, Number(page.at(-1)?.id));
    }
    if (isChangedSince) {
      const updated = narrow(source, isChangedSince(state.sourceSeconds - SECONDS_OVERLAP));
      for await (const page of readSourcePages(database, updated, { key, pageRows })) {
        await importOnce(reading, page);
      }
    }
    const active = narrow(source, isActiveAt(sourceSeconds));
    const sourceCursor = await importActive(reading, active, before.sourceCursor);
    const { activeCursor, missing } = await lookUpActive(reading, before.activeCursor);
    isMissing ||= missing > 0;
    next.tables[source.name] = { lastId, activeCursor, sourceCursor };
  }
  return { next, isMissing };
}

const START: TableState = { lastId: 0, activeCursor: 0, sourceCursor: 0 };

/** The state after a sweep, which reads every row. */
export async function loadStateAfterSweep(
  database: SourceDatabase,
  penaltyTables: readonly OpenTable[],
  { source, sweptAt }: Pick<MirrorState, 'source' | 'sweptAt'>,
): Promise<MirrorState> {
  const sourceSeconds = await loadSourceClock(database);
  const tables: MirrorState['tables'] = {};
  for (const { source: table, key } of penaltyTables) {
    const [row] = await database.select(`select max(${key}) as id from ${table.name}`);
    tables[table.name] = { ...START, lastId: Number(row?.id ?? 0) };
  }
  return { source, sweptAt, sourceSeconds, tables };
}

/** The time of the source's clock, which dates its rows, in Unix seconds. */
async function loadSourceClock(database: SourceDatabase): Promise<number> {
  const [row] = await database.select(
    database.kind === 'mysql' ? 'select unix_timestamp() as now' : "select strftime('%s', 'now') as now",
  );
  return Number(row?.now);
}

/**
 * Compares our next active penalties with their rows.
 * @returns the id to continue after, 0 once all were compared, and how many of them have no row.
 */
async function lookUpActive(
  reading: Reading,
  after: number,
): Promise<{ activeCursor: number; missing: number }> {
  const { run, database, table } = reading;
  const { name, types } = table;
  const active = await listActivePenaltyKeys(
    run.db,
    { source: run.source.name, sourceTable: name, types },
    { after, limit: ACTIVE_WINDOW },
  );
  const unread = active.filter(({ sourceId }) => !reading.ids.has(sourceId));
  let missing = 0;
  for (let start = 0; start < unread.length; start += LOOKUP_IDS) {
    const ids = unread.slice(start, start + LOOKUP_IDS).map(({ sourceId }) => sourceId);
    const rows = await findRowsById(database, table, ids);
    missing += ids.length - rows.length;
    await importOnce(reading, rows);
  }
  const last = active.length < ACTIVE_WINDOW ? undefined : active.at(-1);
  return { activeCursor: last?.id ?? 0, missing };
}

/** Compares the next rows that are active at the source, by id. @returns the id to continue after; 0 once all were compared. */
async function importActive(reading: Reading, active: SourceTable, after: number): Promise<number> {
  const { database, table, pageRows } = reading;
  let rowsCompared = 0;
  for await (const page of readSourcePages(database, active, { key: table.key, after, pageRows })) {
    await importOnce(reading, page);
    rowsCompared += page.length;
    if (rowsCompared >= ACTIVE_WINDOW) return Number(page.at(-1)?.id);
  }
  return 0;
}

/** Imports the rows that this round has not imported yet: most active rows are new, or active here and there. */
async function importOnce({ run, table, ids }: Reading, page: readonly SourceRow[]): Promise<void> {
  const rows = page.filter(({ id }) => !ids.has(id ?? ''));
  for (const { id } of rows) ids.add(id ?? '');
  if (rows.length > 0) await importRows(run, table, rows);
}

function narrow(table: SourceTable, condition: string): SourceTable {
  return { ...table, condition: `${table.condition} and (${condition})` };
}
