import type { PenaltySource } from '../queries/penalty-sources.ts';
import type { ImportSummary } from './import-report.ts';
import { type ImportDeps, type ImportOptions, type ImportRun, importPages, runImport } from './import-run.ts';
import { findSimpleAdminTables, readSimpleAdminRows, type SimpleAdminTable } from './simple-admin-rows.ts';
import { openSourceDatabase, PAGE_ROWS, readPages, type SourceDatabase } from './source-database.ts';
import { matchSourceServers } from './source-servers.ts';
import { wallClockToInstant } from './wall-clock.ts';

const SIMPLE_ADMIN_SOURCE = 'simpleadmin';

export const SIMPLE_ADMIN_SERVERS = 'sa_servers';

export type SimpleAdminOptions = ImportOptions & {
  /** `mysql://…` or `sqlite:PATH`. */
  url: string;
  /** The plugin's configured zone, `UTC` by default. SQLite files are in UTC whatever this says. */
  timezone?: string | undefined;
  /** Names the source when several are imported; `simpleadmin` by default. */
  source?: string | undefined;
  /** Takes `sa_mutes.passed` (minutes online) as what counts down, where it is there; off by default. */
  trustsOnlineTime?: boolean | undefined;
};

/**
 * Imports the bans, mutes and warnings of a CS2-SimpleAdmin database; repeating it changes only what changed there.
 * Rows that are not there any more are marked and kept: an admin's removal deletes the bans he lifted.
 * @throws {InvalidInput} for an address, a zone or a database of another kind.
 * @throws {Unavailable} when the source does not answer.
 */
export async function importSimpleAdmin(
  deps: ImportDeps,
  { url, timezone, source = SIMPLE_ADMIN_SOURCE, trustsOnlineTime = false, ...options }: SimpleAdminOptions,
): Promise<ImportSummary> {
  wallClockToInstant(timezone ?? 'UTC');
  const database = await openSourceDatabase(url);
  try {
    return await runImport(deps, simpleAdminSource(source, database), options, (run) =>
      sweepSimpleAdmin(run, database, { timezone, trustsOnlineTime }),
    );
  } finally {
    await database.close();
  }
}

/** What a SimpleAdmin database is remembered as. */
export function simpleAdminSource(name: string, { address }: SourceDatabase): PenaltySource {
  return { name, kind: 'simpleadmin', address, prefix: '' };
}

/** Reads every row of the source, and marks ours that it has no more. @param pageRows rows read and written at once. */
export async function sweepSimpleAdmin(
  run: ImportRun,
  database: SourceDatabase,
  {
    timezone = 'UTC',
    trustsOnlineTime = false,
    pageRows = PAGE_ROWS,
  }: { timezone?: string | undefined; trustsOnlineTime?: boolean; pageRows?: number },
): Promise<void> {
  const tables = await findSimpleAdminTables(database);
  const serverIds = await matchSimpleAdminServers(run, database);
  const total = await countRows(database, tables);
  const toInstant = wallClockToInstant(database.kind === 'sqlite' ? 'UTC' : timezone);
  for (const table of tables) {
    const pages = readPages((after) =>
      database.select(`${table.select} where p.id > ? order by p.id limit ${pageRows}`, [after?.id ?? '-1']),
    );
    const reader = readSimpleAdminRows(table.name, {
      now: run.now(),
      serverIds,
      toInstant,
      trustsOnlineTime,
    });
    await importPages({ ...run, total }, pages, reader);
  }
  run.summary.gone = await run.writer.markGone(
    tables.map((table) => table.name),
    run.now(),
  );
}

/** Our ids of the source's servers; those we lack are made, hidden. */
export async function matchSimpleAdminServers(
  run: ImportRun,
  database: SourceDatabase,
): Promise<ReadonlyMap<string, number>> {
  const columns = await database.listColumns(SIMPLE_ADMIN_SERVERS);
  const rows = columns.has('address')
    ? await database.select(
        `select id, ${columns.has('hostname') ? 'hostname' : 'null as hostname'}, address from ${SIMPLE_ADMIN_SERVERS}`,
      )
    : [];
  const sourceServers = rows.map(({ id, hostname, address }) => ({
    sourceServerId: id ?? '',
    name: hostname ?? null,
    address: address ?? '',
  }));
  return matchSourceServers(run, SIMPLE_ADMIN_SERVERS, sourceServers);
}

async function countRows(database: SourceDatabase, tables: readonly SimpleAdminTable[]): Promise<number> {
  let total = 0;
  for (const { name } of tables) {
    const [counted] = await database.select(`select count(*) as n from ${name}`);
    total += Number(counted?.n ?? 0);
  }
  return total;
}
