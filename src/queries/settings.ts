import { eq } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { settings } from '../db/schema/settings.ts';

/** The id of the folder `STORAGE_DIR` that the database's sounds are in. */
export const STORAGE_ID_SETTING = 'storage.id';

/** A value the service keeps for itself. */
export async function findSetting(db: Db, key: string): Promise<string | undefined> {
  const [row] = await db.select({ value: settings.value }).from(settings).where(eq(settings.key, key));
  return row?.value;
}

/** The value that is kept, `initial` the first time. Processes that start together end up with the same one. */
export async function findOrSaveSetting(db: Db, key: string, initial: string): Promise<string> {
  await db.insert(settings).values({ key, value: initial }).onConflictDoNothing();
  return (await findSetting(db, key)) ?? initial;
}

/** Keeps a value under a key, in place of what was kept before. */
export async function saveSetting(db: Db, key: string, value: string): Promise<void> {
  await db
    .insert(settings)
    .values({ key, value })
    .onConflictDoUpdate({ target: settings.key, set: { value } });
}
