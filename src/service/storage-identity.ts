import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Db } from '../db/client.ts';
import { hasErrorCode } from '../domain/error-causes.ts';
import { findOrSaveSetting, STORAGE_ID_SETTING } from '../queries/settings.ts';
import { STORAGE_ID_FILE } from '../runtime/folder.ts';

/**
 * Logs an error when `STORAGE_DIR` is not the folder of the other processes on this database: each would serve only the
 * sounds that it rendered itself. A file in the folder holds its id, and the database the id of the first folder used.
 */
export async function checkStorageIdentity(db: Db, storageDir: string, log: Logger): Promise<void> {
  const file = join(storageDir, STORAGE_ID_FILE);
  const found = await findOrMakeId(file).catch((error: unknown) => {
    // A full or read-only disk does not prevent serving what is on it.
    log.warn({ err: error, file }, 'cannot tell whether STORAGE_DIR is shared: the id in it cannot be read');
    return undefined;
  });
  if (found === undefined) return;
  const expected = await findOrSaveSetting(db, STORAGE_ID_SETTING, found);
  if (found === expected) return;
  log.error(
    { file, found, expected },
    'STORAGE_DIR is not the folder that other processes on this database use: their sounds are missing here. ' +
      'Give all processes the same folder; if this is it, write the expected id into the file',
  );
}

/** Processes that start together in one folder find the same id. */
async function findOrMakeId(file: string): Promise<string> {
  const id = crypto.randomUUID();
  const draft = `${file}.${id}`;
  await writeFile(draft, `${id}\n`);
  try {
    await link(draft, file);
  } catch (error) {
    if (!hasErrorCode(error, ['EEXIST'])) throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return (await readFile(file, 'utf8')).trim();
}
