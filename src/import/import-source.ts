import type { PenaltySource } from '../queries/penalties/sources.ts';
import type { ImportSummary } from './import-report.ts';
import { type ImportDeps, type ImportOptions, type ImportRun, importPages, runImport } from './import-run.ts';
import { readSource } from './source/open-source.ts';
import type { SourceDatabase, SourceRow } from './source/source-database.ts';
import { countSourceRows, PAGE_ROWS, readSourcePages } from './source/tables.ts';
import type { PenaltyTable, SourceSystem } from './source-system.ts';

/** Which database is imported. */
export type SourceOptions = ImportOptions & {
  /** `mysql://…` or `sqlite:PATH`. */
  url: string;
  /** Names the source when several of one kind are imported; by default the name of the kind. */
  source?: string | undefined;
};

/**
 * Imports the penalties of another system's database; a repeated import only writes what changed there. Rows that have
 * vanished there are marked as gone and kept.
 * @throws {InvalidInput} for an address or a database of another kind.
 * @throws {Unavailable} when the source does not respond.
 */
export async function importSource(
  deps: ImportDeps,
  system: SourceSystem,
  { url, source = system.kind, ...options }: SourceOptions,
): Promise<ImportSummary> {
  return readSource(url, (database) =>
    runImport(deps, identifySource(system, source, database), options, async (run) =>
      importTables(run, database, await system.openTables(run, database)),
    ),
  );
}

/** The saved origin of a source. */
export function identifySource(
  { kind, prefix }: SourceSystem,
  name: string,
  { address }: SourceDatabase,
): PenaltySource {
  return { name, kind, address, prefix };
}

/** Reads every row of the tables, and marks those that have vanished as gone. @param pageRows rows per page. */
export async function importTables(
  run: ImportRun,
  database: SourceDatabase,
  tables: readonly PenaltyTable[],
  { pageRows = PAGE_ROWS }: { pageRows?: number } = {},
): Promise<void> {
  const total = await countSourceRows(
    database,
    tables.map(({ source }) => source),
  );
  for (const { source, key, parser, groups } of tables) {
    const pages = groups?.readAll(pageRows) ?? inGroups(readSourcePages(database, source, { key, pageRows }));
    await importPages({ ...run, total }, pages, parser);
  }
  run.summary.gone = await run.writer.markGone(
    tables.map(({ parser }) => parser.table),
    run.now(),
  );
}

async function* inGroups(pages: AsyncIterable<SourceRow[]>): AsyncGenerator<SourceRow[][]> {
  for await (const page of pages) yield page.map((row) => [row]);
}
