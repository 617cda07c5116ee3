import { beforeEach } from 'bun:test';
import { asc } from 'drizzle-orm';
import type { Db } from '../../../src/db/client.ts';
import type { Database } from '../../../src/db/database.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import type { ImportDeps } from '../../../src/import/import-run.ts';
import { createTestDatabase } from '../database/database.ts';
import { createSourceFiles } from './source-file.ts';

/**
 * A database of the test file's own, without penalties and servers before each test, what importers work with on it, and
 * what makes an SQLite file of statements.
 */
export async function openImports() {
  const database = await createTestDatabase();
  beforeEach(async () => {
    await database.connection`truncate penalties, penalty_events, servers, server_aliases cascade`;
  });
  return { ...database, database, deps: importDeps(database), createFile: createSourceFiles() };
}

/** What importers work with, on a clock that stands still. */
export function importDeps({ db, url }: Database, now = '2026-11-21T12:00:00Z'): ImportDeps {
  return { db, databaseUrl: url, now: () => new Date(now), actor: 'operator' as const };
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
