import { and, asc, eq, gt, inArray, isNull } from 'drizzle-orm';
import { penalties } from '../db/schema.ts';
import type { PenaltyType } from '../penalty.ts';
import { type ImportRun, type ItemReader, importPage, importPages } from './import-run.ts';
import type { MirrorState } from './mirror-state.ts';
import { matchSimpleAdminServers } from './simple-admin.ts';
import {
  findSimpleAdminTables,
  readSimpleAdminRows,
  type SimpleAdminTable,
  type SimpleAdminTableName,
} from './simple-admin-rows.ts';
import { readPages, type SourceDatabase, type SourceRow } from './source-database.ts';
import { wallClockToInstant } from './wall-clock.ts';

/** Ids are handed out before a row is committed: some appear later than larger ones. */
const ID_OVERLAP = 500;
/** The same for `updated_at`. */
const SECONDS_OVERLAP = 300;
/** Rows of a table that are active with us, or at the source, and are looked at in one round. */
const ACTIVE_WINDOW = 5000;
const LOOKUP_IDS = 500;

const TYPES: Record<SimpleAdminTableName, PenaltyType[]> = {
  sa_bans: ['ban'],
  sa_mutes: ['mute', 'gag', 'silence'],
  sa_warns: ['warn'],
};

/**
 * Brings over what changed since the last round: new rows by their ids, changed ones by `updated_at` where MySQL keeps
 * it, else by looking up those that are active with us, so many a round. Those that are active at the source are compared
 * as well, so many a round: what was made active again, and what a wrong clock of ours ended.
 * @returns the state to go on from.
 */
export async function importSimpleAdminChanges(
  run: ImportRun,
  database: SourceDatabase,
  { state, timezone, pageRows }: { state: MirrorState; timezone: string; pageRows: number },
): Promise<MirrorState> {
  const sourceSeconds = await readSourceClock(database);
  const serverIds = await matchSimpleAdminServers(run, database);
  const toInstant = wallClockToInstant(database.kind === 'sqlite' ? 'UTC' : timezone);
  const options = { now: run.now(), serverIds, toInstant, trustsOnlineTime: false };
  const next: MirrorState = { ...state, sourceSeconds, tables: {} };
  for (const table of await findSimpleAdminTables(database)) {
    const reader = readSimpleAdminRows(table.name, options);
    const before = state.tables[table.name] ?? { lastId: 0, activeCursor: 0, sourceCursor: 0 };
    let { lastId, activeCursor } = before;
    const newRows = readPages((after) =>
      database.select(`${table.select} where p.id > ? order by p.id limit ${pageRows}`, [
        after?.id ?? before.lastId - ID_OVERLAP,
      ]),
    );
    for await (const page of newRows) {
      await importPage(run, page, reader);
      lastId = Math.max(lastId, Number(page.at(-1)?.id));
    }
    // SQLite has no ON UPDATE: only some versions of the plugin set the column there.
    if (database.kind === 'mysql' && table.columns.has('updated_at')) {
      await importPages(run, readUpdated(database, table, { since: state.sourceSeconds, pageRows }), reader);
    } else {
      const active = await listActive(run, table.name, activeCursor);
      for (let start = 0; start < active.length; start += LOOKUP_IDS) {
        const ids = active.slice(start, start + LOOKUP_IDS).map((row) => row.sourceId ?? '');
        const marks = ids.map(() => '?').join(', ');
        await importPage(run, await database.select(`${table.select} where p.id in (${marks})`, ids), reader);
      }
      activeCursor = active.length < ACTIVE_WINDOW ? 0 : (active.at(-1)?.id ?? 0);
    }
    const { sourceCursor } = await importActive(run, database, table, { before, reader, pageRows });
    next.tables[table.name] = { lastId, activeCursor, sourceCursor };
  }
  return next;
}

/** The state after every row was read. */
export async function readStateAfterSweep(
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

/** The time by the source's own clock, in Unix seconds: its rows are dated by it. */
export async function readSourceClock(database: SourceDatabase): Promise<number> {
  const [row] = await database.select(
    database.kind === 'mysql' ? 'select unix_timestamp() as now' : "select strftime('%s', 'now') as now",
  );
  return Number(row?.now);
}

function readUpdated(
  database: SourceDatabase,
  { select }: SimpleAdminTable,
  { since, pageRows }: { since: number; pageRows: number },
) {
  const condition = 'p.updated_at >= from_unixtime(?) and p.id > ?';
  return readPages((after) =>
    database.select(`${select} where ${condition} order by p.id limit ${pageRows}`, [
      since - SECONDS_OVERLAP,
      after?.id ?? '-1',
    ]),
  );
}

/** Compares the next rows that are active at the source, by id. @returns where to go on; 0 once all were compared. */
async function importActive(
  run: ImportRun,
  database: SourceDatabase,
  { select }: SimpleAdminTable,
  {
    before,
    reader,
    pageRows,
  }: { before: { sourceCursor: number }; reader: ItemReader<SourceRow>; pageRows: number },
): Promise<{ sourceCursor: number }> {
  // An empty status counts as active until its end.
  const condition = "p.status in ('ACTIVE', '') and p.id > ?";
  let sourceCursor = before.sourceCursor;
  for (let compared = 0; compared < ACTIVE_WINDOW; compared += pageRows) {
    const page = await database.select(`${select} where ${condition} order by p.id limit ${pageRows}`, [
      sourceCursor,
    ]);
    await importPage(run, page, reader);
    if (page.length < pageRows) return { sourceCursor: 0 };
    sourceCursor = Number(page.at(-1)?.id);
  }
  return { sourceCursor };
}

async function listActive(run: ImportRun, table: SimpleAdminTableName, cursor: number) {
  return run.db
    .select({ id: penalties.id, sourceId: penalties.sourceId })
    .from(penalties)
    .where(
      and(
        inArray(penalties.type, TYPES[table]),
        eq(penalties.status, 'ACTIVE'),
        eq(penalties.source, run.source),
        eq(penalties.sourceTable, table),
        isNull(penalties.goneAt),
        gt(penalties.id, cursor),
      ),
    )
    .orderBy(asc(penalties.id))
    .limit(ACTIVE_WINDOW);
}
