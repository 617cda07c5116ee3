import { listActivePenaltyKeys } from '../queries/penalties/sources.ts';
import { type ImportRun, importPage } from './import-run.ts';
import type { MirrorState } from './mirror-state.ts';
import type { SourceDatabase, SourceRow } from './source/source-database.ts';
import { readSourcePages, type SourceTable, selectSourcePage, selectSourceRows } from './source/tables.ts';
import type { PenaltyTable } from './source-system.ts';

/** Ids are assigned before rows are committed, so a row may appear after one with a larger id. */
const ID_OVERLAP = 500;
/** For the same reason rows with an older time of change may appear late. */
const SECONDS_OVERLAP = 300;
/** How many active penalties of a table are compared in one round: of ours, and of the source's. */
const ACTIVE_WINDOW = 5000;
const LOOKUP_IDS = 500;

type TableState = MirrorState['tables'][string];

/**
 * Imports what changed since the last round:
 * - new rows, by their ids;
 * - changed rows, where the source records the time of every change; otherwise our active penalties are looked up, some per
 *   round;
 * - rows that are active at the source, some per round: they may be active again, or we may have expired them too early.
 * @returns the state for the next round.
 */
export async function importChanges(
  run: ImportRun,
  database: SourceDatabase,
  tables: readonly PenaltyTable[],
  { state, pageRows }: { state: MirrorState; pageRows: number },
): Promise<MirrorState> {
  const sourceSeconds = await loadSourceClock(database);
  const next: MirrorState = { ...state, sourceSeconds, tables: {} };
  for (const table of tables) {
    const { source, key, isChangedSince } = table;
    const before = state.tables[source.name] ?? { lastId: 0, activeCursor: 0, sourceCursor: 0 };
    let { lastId, activeCursor } = before;
    const newRows = readSourcePages(database, source, { key, after: before.lastId - ID_OVERLAP, pageRows });
    for await (const page of newRows) {
      await importRows(run, table, page);
      lastId = Math.max(lastId, Number(page.at(-1)?.[key]));
    }
    if (isChangedSince) {
      const updated = narrow(source, isChangedSince(state.sourceSeconds - SECONDS_OVERLAP));
      for await (const page of readSourcePages(database, updated, { key, pageRows })) {
        await importRows(run, table, page);
      }
    } else activeCursor = await lookUpActive(run, database, table, activeCursor);
    const active = { table, seconds: sourceSeconds, pageRows };
    const sourceCursor = await importActive(run, database, active, before.sourceCursor);
    next.tables[source.name] = { lastId, activeCursor, sourceCursor };
  }
  return next;
}

/** The state after a sweep, which reads every row. */
export async function loadStateAfterSweep(
  database: SourceDatabase,
  penaltyTables: readonly PenaltyTable[],
  { sourceHash, sweptAt }: { sourceHash: string; sweptAt: Date },
): Promise<MirrorState> {
  const sourceSeconds = await loadSourceClock(database);
  const tables: MirrorState['tables'] = {};
  for (const { source, key } of penaltyTables) {
    const [row] = await database.select(`select max(${key}) as id from ${source.name}`);
    tables[source.name] = { lastId: Number(row?.id ?? 0), activeCursor: 0, sourceCursor: 0 };
  }
  return { sourceHash, sweptAt, sourceSeconds, tables };
}

/** The time of the source's clock, which dates its rows, in Unix seconds. */
async function loadSourceClock(database: SourceDatabase): Promise<number> {
  const [row] = await database.select(
    database.kind === 'mysql' ? 'select unix_timestamp() as now' : "select strftime('%s', 'now') as now",
  );
  return Number(row?.now);
}

async function importRows(
  run: ImportRun,
  { parser, groups }: PenaltyTable,
  rows: readonly SourceRow[],
): Promise<void> {
  await importPage(run, groups ? await groups.complete(rows) : rows.map((row) => [row]), parser);
}

/** Compares our next active penalties with their rows. @returns the id to continue after; 0 once all were compared. */
async function lookUpActive(
  run: ImportRun,
  database: SourceDatabase,
  table: PenaltyTable,
  activeCursor: TableState['activeCursor'],
): Promise<number> {
  const { source, key, types, parser } = table;
  const active = await listActivePenaltyKeys(
    run.db,
    { source: run.source, sourceTable: parser.table, types },
    { after: activeCursor, limit: ACTIVE_WINDOW },
  );
  for (let start = 0; start < active.length; start += LOOKUP_IDS) {
    const ids = active.slice(start, start + LOOKUP_IDS).map((row) => row.sourceId);
    const marks = ids.map(() => '?').join(', ');
    await importRows(run, table, await selectSourceRows(database, source, `and p.${key} in (${marks})`, ids));
  }
  return active.length < ACTIVE_WINDOW ? 0 : (active.at(-1)?.id ?? 0);
}

/** Compares the next rows that are active at the source, by id. @returns the id to continue after; 0 once all were compared. */
async function importActive(
  run: ImportRun,
  database: SourceDatabase,
  { table, seconds, pageRows }: { table: PenaltyTable; seconds: number; pageRows: number },
  after: TableState['sourceCursor'],
): Promise<number> {
  const { source, key, isActiveAt } = table;
  const active = narrow(source, isActiveAt(seconds));
  let sourceCursor = after;
  for (let compared = 0; compared < ACTIVE_WINDOW; compared += pageRows) {
    const page = await selectSourcePage(database, active, { key, after: sourceCursor, pageRows });
    await importRows(run, table, page);
    if (page.length < pageRows) return 0;
    sourceCursor = Number(page.at(-1)?.[key]);
  }
  return sourceCursor;
}

function narrow(table: SourceTable, condition: string): SourceTable {
  return { ...table, condition: `${table.condition} and (${condition})` };
}
