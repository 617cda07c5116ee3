import type { Db } from '../db/client.ts';
import { knownTablesSetting } from '../queries/penalties/sources.ts';
import { findJsonSetting, saveSetting } from '../queries/settings.ts';
import type { SourceDatabase } from './source/tables.ts';

/** Which tables of a source can be read, and which no longer can. */
type TableLook = {
  present: readonly string[];
  /** Tables that earlier reads found, and that are missing or unreadable now. */
  missing: readonly string[];
};

/**
 * Looks for the tables of a source, and compares them with those that earlier reads found.
 * @param options.names the tables that are read.
 * @param options.listStored lists the tables of which something is stored here, for a source without a remembered
 *   read.
 */
export async function lookForTables(
  db: Db,
  database: SourceDatabase,
  {
    source,
    names,
    listStored = async () => [],
  }: { source: string; names: readonly string[]; listStored?: () => Promise<readonly string[]> },
): Promise<TableLook> {
  const columns = await Promise.all(names.map((name) => database.listColumns(name)));
  const present = names.filter((_, index) => columns[index]?.size);
  const absent = names.filter((name) => !present.includes(name));
  if (absent.length === 0) return { present, missing: [] };
  const known = (await loadKnownTables(db, source)) ?? (await listStored());
  return { present, missing: absent.filter((name) => known.includes(name)) };
}

/** Remembers the tables that a read found, besides those that earlier ones found. */
export async function rememberTables(
  db: Db,
  source: string,
  { present, missing }: TableLook,
  { forgetsMissing = false } = {},
): Promise<void> {
  const before = await loadKnownTables(db, source);
  const kept = (before ?? missing).filter((name) => !forgetsMissing || !missing.includes(name));
  const known = [...new Set([...kept, ...present])];
  if (before === undefined || known.length !== before.length || forgetsMissing) {
    await saveSetting(db, knownTablesSetting(source), JSON.stringify(known));
  }
}

function loadKnownTables(db: Db, source: string): Promise<string[] | undefined> {
  return findJsonSetting<string[]>(db, knownTablesSetting(source), (names) =>
    names.every((name) => typeof name === 'string'),
  );
}
