import type { PenaltySource } from '../../queries/penalties/sources.ts';
import type { ImportSummary } from '../import-report.ts';
import {
  type ImportDeps,
  type ImportOptions,
  type ImportRun,
  importPages,
  runImport,
} from '../import-run.ts';
import { matchSourceServers, type SourceServerTable } from '../servers.ts';
import { openSourceDatabase } from '../source/open-source.ts';
import type { SourceDatabase } from '../source/source-database.ts';
import { countSourceRows, PAGE_ROWS, readSourcePages } from '../source/tables.ts';
import { wallClockToInstant } from '../source/wall-clock.ts';
import { createSimpleAdminParser, findSimpleAdminTables } from './rows.ts';

const SIMPLE_ADMIN_SOURCE = 'simpleadmin';

export const SIMPLE_ADMIN_SERVERS: SourceServerTable = {
  name: 'sa_servers',
  needed: ['id', 'address'],
  wanted: ['hostname'],
  toServer: ({ id, hostname, address }) => ({
    sourceServerId: id ?? '',
    name: hostname ?? null,
    address: address ?? '',
  }),
};

export type SimpleAdminOptions = ImportOptions & {
  /** `mysql://…` or `sqlite:PATH`. */
  url: string;
  /** The plugin's configured zone, `UTC` by default; ignored for SQLite files, which are in UTC. */
  timezone?: string | undefined;
  /** Names the source when several are imported; `simpleadmin` by default. */
  source?: string | undefined;
  /** Counts down by `sa_mutes.passed` (minutes online) where it is set; off by default. */
  trustsOnlineTime?: boolean | undefined;
};

/**
 * Imports the bans, mutes and warnings of a CS2-SimpleAdmin database; a repeated import only writes what changed there.
 * Rows that have vanished there are marked as gone and kept, because removing an admin there deletes bans they lifted.
 * @throws {InvalidInput} for an address, a zone or a database of another kind.
 * @throws {Unavailable} when the source does not respond.
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

/** The saved origin of a SimpleAdmin database. */
export function simpleAdminSource(name: string, { address }: SourceDatabase): PenaltySource {
  return { name, kind: 'simpleadmin', address, prefix: '' };
}

/** Reads every row of the source, and marks those that have vanished there as gone. @param pageRows rows per page. */
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
  const serverIds = await matchSourceServers(run, database, SIMPLE_ADMIN_SERVERS);
  const total = await countSourceRows(database, tables);
  const toInstant = wallClockToInstant(database.kind === 'sqlite' ? 'UTC' : timezone);
  const options = { serverIds, toInstant, trustsOnlineTime };
  for (const table of tables) {
    const pages = readSourcePages(database, table, { pageRows });
    await importPages({ ...run, total }, pages, createSimpleAdminParser(table.name, options));
  }
  run.summary.gone = await run.writer.markGone(
    tables.map((table) => table.name),
    run.now(),
  );
}
