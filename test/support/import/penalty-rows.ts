import { beforeEach, expect } from 'bun:test';
import { asc } from 'drizzle-orm';
import type { Db } from '../../../src/db/client.ts';
import type { Database } from '../../../src/db/database.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import type { ImportSummary } from '../../../src/import/import-report.ts';
import type { ImportDeps } from '../../../src/import/import-run.ts';
import { importNdjson } from '../../../src/import/ndjson/ndjson.ts';
import { createTestDatabase } from '../database/database.ts';
import { createSourceFiles } from './source-file.ts';

/**
 * A database of the test file's own, without penalties and servers before each test, what importers work with on it, and
 * what makes an SQLite file of statements.
 */
export async function openImports() {
  const database = await createTestDatabase();
  const { db, connection } = database;
  const deps = importDeps(database);
  beforeEach(async () => {
    await connection`truncate penalties, penalty_events, servers, server_aliases, penalty_sources cascade`;
    await connection`delete from settings where key like 'tables.%'`;
  });
  const stored = () => storedPenalties(db);

  return {
    ...database,
    deps,
    createFile: createSourceFiles(),
    stored,
    importLines: (lines: readonly object[], options: { isDryRun?: boolean } = {}) =>
      importNdjson(deps, { chunks: toNdjson(lines), ...options }),
    /** Imports twice, and expects that the second import changes nothing. @returns what the first one said. */
    importTwice: async (run: () => Promise<ImportSummary>): Promise<ImportSummary> => {
      const summary = await run();
      const before = await stored();
      const { read, added, setAside } = summary;
      expect(await run()).toMatchObject({
        ...{ read, added: 0, changed: 0, unchanged: added, gone: 0, setAside, serversAdded: [] },
      });
      expect(await stored()).toEqual(before);
      return summary;
    },
    /** Expects that a dry run says what the import then does. @returns what the import said. */
    announceAndImport: async (
      run: (options: { isDryRun?: boolean }) => Promise<ImportSummary>,
    ): Promise<ImportSummary> => {
      const announced = await run({ isDryRun: true });
      const done = await run({});
      expect(announced).toEqual({ ...done, isDryRun: true });
      return done;
    },
  };
}

/** What importers work with, on a clock that stands still. */
export function importDeps({ db, url }: Database, now = '2026-11-21T12:00:00Z'): ImportDeps {
  return { db, databaseUrl: url, now: () => new Date(now), actor: 'operator' as const };
}

/** A ban as a line of JSON has it. */
export const LINE = {
  penalty_type: 'ban',
  player_steamid: '76561198000000001',
  created: '2026-11-21T11:30:00Z',
};

/** Lines of JSON, as they are read from a file. */
export function toNdjson(lines: readonly object[]): AsyncIterable<Uint8Array> {
  return new Blob([lines.map((line) => JSON.stringify(line)).join('\n')]).stream();
}

/** All penalties by source table and id, without our own ids. */
export async function storedPenalties(db: Db) {
  const rows = await db.select().from(penalties).orderBy(asc(penalties.sourceTable), asc(penalties.id));
  return rows.map(({ id: _, ...row }) => row);
}

/** One penalty by its key at the source. */
export async function storedPenalty(db: Db, sourceTable: string, sourceId: string | number) {
  const rows = await storedPenalties(db);
  return rows.find((row) => row.sourceTable === sourceTable && row.sourceId === String(sourceId));
}
