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
export async function findLastBackup(db: Db): Promise<LastBackup | undefined> {
  const stored = await findSetting(db, LAST_BACKUP_SETTING);
  return stored === undefined ? undefined : JSON.parse(stored);
}

/** A value that the service stored for itself. */
export async function findSetting(db: Db | Tx, key: string): Promise<string | undefined> {
  const [row] = await db.select({ value: settings.value }).from(settings).where(eq(settings.key, key));
  return row?.value;
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
