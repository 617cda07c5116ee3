import { eq } from 'drizzle-orm';
import type { Db, Tx } from '../db/client.ts';
import { settings } from '../db/schema/settings.ts';

/** The id of the folder `STORAGE_DIR` that contains this database's sounds. */
export const STORAGE_ID_SETTING = 'storage.id';

/** When the last backup was made, and its size, as JSON. */
const LAST_BACKUP_SETTING = 'backup.last';

/** @param at ISO 8601. */
type LastBackup = { at: string; bytes: number };

/** Stores when the last backup was made. */
export function saveLastBackup(db: Db | Tx, { at, bytes }: { at: Date; bytes: number }): Promise<void> {
  const backup: LastBackup = { at: at.toISOString(), bytes };
  return saveSetting(db, LAST_BACKUP_SETTING, JSON.stringify(backup));
}

/** @returns undefined when none was made. */
export function findLastBackup(db: Db): Promise<LastBackup | undefined> {
  return findJsonSetting(db, LAST_BACKUP_SETTING, ({ at = '' }) => !Number.isNaN(Date.parse(at)));
}

/** A value that the service stored for itself. */
export async function findSetting(db: Db | Tx, key: string): Promise<string | undefined> {
  const [row] = await db.select({ value: settings.value }).from(settings).where(eq(settings.key, key));
  return row?.value;
}

/**
 * A value that was stored as JSON. An unreadable value counts as absent and is stored anew, so that no loop stops
 * because of it.
 * @param isWhole whether a value has the expected form; it may throw for another.
 */
export async function findJsonSetting<T extends object>(
  db: Db | Tx,
  key: string,
  isWhole: (value: Partial<T>) => boolean,
): Promise<T | undefined> {
  const text = await findSetting(db, key);
  try {
    const value = JSON.parse(text ?? 'null');
    return isWhole(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The stored value, or `initial`, which is then stored. Processes that start together get the same one. */
export async function findOrSaveSetting(db: Db | Tx, key: string, initial: string): Promise<string> {
  await db.insert(settings).values({ key, value: initial }).onConflictDoNothing();
  return (await findSetting(db, key)) ?? initial;
}

/** Stores a value under a key, replacing an earlier one. */
export async function saveSetting(db: Db | Tx, key: string, value: string): Promise<void> {
  await db
    .insert(settings)
    .values({ key, value })
    .onConflictDoUpdate({ target: settings.key, set: { value } });
}
