import type { PenaltyType } from '../../domain/penalty.ts';
import { listActivePenaltyKeys } from '../../queries/penalties/sources.ts';
import { type ImportRun, type ItemParser, importPage, importPages } from '../import-run.ts';
import type { MirrorState } from '../mirror-state.ts';
import { matchSourceServers } from '../servers.ts';
import type { SourceDatabase, SourceRow } from '../source/source-database.ts';
import { readSourcePages, selectSourcePage, selectSourceRows } from '../source/tables.ts';
import { wallClockToInstant } from '../source/wall-clock.ts';
import {
  createSimpleAdminParser,
  findSimpleAdminTables,
  type SimpleAdminTable,
  type SimpleAdminTableName,
} from './rows.ts';
import { SIMPLE_ADMIN_SERVERS } from './simple-admin.ts';

/** Ids are assigned before rows are committed, so a row may appear after one with a larger id. */
const ID_OVERLAP = 500;
/** For the same reason rows with an older `updated_at` may appear late. */
const SECONDS_OVERLAP = 300;
/** How many active penalties of a table are compared in one round: of ours, and of the source's. */
const ACTIVE_WINDOW = 5000;
const LOOKUP_IDS = 500;

const TYPES: Record<SimpleAdminTableName, PenaltyType[]> = {
  sa_bans: ['ban'],
  sa_mutes: ['mute', 'gag', 'silence'],
  sa_warns: ['warn'],
};

/**
 * Imports what changed since the last round:
 * - new rows, by their ids;
 * - changed rows, by `updated_at` where MySQL maintains it; otherwise our active penalties are looked up, some per round;
 * - rows that are active at the source, some per round: they may be active again, or we may have expired them too early.
 * @returns the state for the next round.
 */
export async function importSimpleAdminChanges(
  run: ImportRun,
  database: SourceDatabase,
  { state, timezone, pageRows }: { state: MirrorState; timezone: string; pageRows: number },
): Promise<MirrorState> {
  const sourceSeconds = await loadSourceClock(database);
  const serverIds = await matchSourceServers(run, database, SIMPLE_ADMIN_SERVERS);
  const toInstant = wallClockToInstant(database.kind === 'sqlite' ? 'UTC' : timezone);
  const options = { serverIds, toInstant, trustsOnlineTime: false };
  const next: MirrorState = { ...state, sourceSeconds, tables: {} };
  for (const table of await findSimpleAdminTables(database)) {
    const parser = createSimpleAdminParser(table.name, options);
    const before = state.tables[table.name] ?? { lastId: 0, activeCursor: 0, sourceCursor: 0 };
    let { lastId, activeCursor } = before;
    const newRows = readSourcePages(database, table, { after: before.lastId - ID_OVERLAP, pageRows });
    for await (const page of newRows) {
      await importPage(run, page, parser);
      lastId = Math.max(lastId, Number(page.at(-1)?.id));
    }
    // SQLite has no ON UPDATE, and only some versions of the plugin set the column themselves.
    if (database.kind === 'mysql' && table.columns.has('updated_at')) {
      const since = state.sourceSeconds - SECONDS_OVERLAP;
      const updated = { ...table, condition: `p.updated_at >= from_unixtime(${since})` };
      await importPages(run, readSourcePages(database, updated, { pageRows }), parser);
    } else {
      const active = await listActivePenaltyKeys(
        run.db,
        { source: run.source, sourceTable: table.name, types: TYPES[table.name] },
        { after: activeCursor, limit: ACTIVE_WINDOW },
      );
      for (let start = 0; start < active.length; start += LOOKUP_IDS) {
        const ids = active.slice(start, start + LOOKUP_IDS).map((row) => row.sourceId);
        const marks = ids.map(() => '?').join(', ');
        const rows = await selectSourceRows(database, table, `and p.id in (${marks})`, ids);
        await importPage(run, rows, parser);
      }
      activeCursor = active.length < ACTIVE_WINDOW ? 0 : (active.at(-1)?.id ?? 0);
    }
    const { sourceCursor } = await importActive(run, database, table, { before, parser, pageRows });
    next.tables[table.name] = { lastId, activeCursor, sourceCursor };
  }
  return next;
}

/** The state after a sweep, which reads every row. */
export async function loadStateAfterSweep(
  database: SourceDatabase,
  { sourceHash, sweptAt, sourceSeconds }: { sourceHash: string; sweptAt: Date; sourceSeconds: number },
): Promise<MirrorState> {
  const tables: MirrorState['tables'] = {};
  for (const { name } of await findSimpleAdminTables(database)) {
    const [row] = await database.select(`select max(id) as id from ${name}`);
    tables[name] = { lastId: Number(row?.id ?? 0), activeCursor: 0, sourceCursor: 0 };
  }
  return { sourceHash, sweptAt, sourceSeconds, tables };
}

/** The time of the source's clock, which dates its rows, in Unix seconds. */
export async function loadSourceClock(database: SourceDatabase): Promise<number> {
  const [row] = await database.select(
    database.kind === 'mysql' ? 'select unix_timestamp() as now' : "select strftime('%s', 'now') as now",
  );
  return Number(row?.now);
}

/** Compares the next rows that are active at the source, by id. @returns the id to continue after; 0 once all were compared. */
async function importActive(
  run: ImportRun,
  database: SourceDatabase,
  table: SimpleAdminTable,
  {
    before,
    parser,
    pageRows,
  }: { before: { sourceCursor: number }; parser: ItemParser<SourceRow>; pageRows: number },
): Promise<{ sourceCursor: number }> {
  // An empty status counts as active until its end.
  const active = { ...table, condition: "p.status in ('ACTIVE', '')" };
  let sourceCursor = before.sourceCursor;
  for (let compared = 0; compared < ACTIVE_WINDOW; compared += pageRows) {
    const page = await selectSourcePage(database, active, { after: sourceCursor, pageRows });
    await importPage(run, page, parser);
    if (page.length < pageRows) return { sourceCursor: 0 };
    sourceCursor = Number(page.at(-1)?.id);
  }
  return { sourceCursor };
}
