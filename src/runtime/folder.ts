import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { access, constants, copyFile, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, hasErrorCode, InvalidInput, Unavailable } from '../domain/errors.ts';

/** The file in `STORAGE_DIR` that is there while a restore changes sounds and database. */
export const RESTORE_MARK = '.restoring';

/** A folder that the operator configured. */
type ConfiguredFolder = { setting: 'DATA_DIR' | 'STORAGE_DIR'; root: string };

const REASONS: Record<string, string> = {
  EEXIST: 'is a file, not a folder',
  EACCES: 'is not writable by this user',
  EPERM: 'is not writable by this user',
  EROFS: 'is on a file system that is read-only',
  ENOSPC: 'is on a disk that is full',
  EDQUOT: 'is on a disk that is full',
};
const TEMPORARY_CODES = ['ENOSPC', 'EDQUOT'];

/**
 * Creates a configured folder, and optionally one in it, when missing, and checks that files can be created there.
 * @throws {InvalidInput} or {Unavailable} as {@link toFolderFailure}.
 */
export async function makeFolder(configured: ConfiguredFolder, path = configured.root): Promise<void> {
  for (const folder of new Set([configured.root, path])) {
    try {
      await mkdir(folder, { recursive: true });
      await access(folder, constants.W_OK | constants.X_OK);
    } catch (error) {
      throw toFolderFailure(error, configured, folder, 'cannot be created');
    }
  }
}

/** @throws {InvalidInput} while a restore is under way, and after one was interrupted. */
export function requireNoRestore(storageDir: string): void {
  const mark = join(storageDir, RESTORE_MARK);
  if (!existsSync(mark)) return;
  throw new InvalidInput(`A restore is running, or was interrupted (${mark}): run restore again`);
}

/** Moves a file, by copying it where the other folder is on another file system. */
export async function moveFile(from: string, to: string): Promise<void> {
  await rename(from, to).catch(async (error: unknown) => {
    if (!hasErrorCode(error, ['EXDEV'])) throw error;
    await copyFile(from, to);
    await syncToDisk(to);
    await rm(from);
  });
}

/** SHA-256 of a file, hexadecimal; undefined when there is none. */
export async function hashFile(path: string): Promise<string | undefined> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  return hash.digest('hex');
}

/** Syncs a file, or the entries of a folder, to the disk. */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Turns a file system error into one line that names the setting; returns any other error unchanged.
 * @param path what could not be used, unless the error names it.
 * @param otherwise the reason for a file system error that is not a common one; without it, such an error is unchanged.
 */
export function toFolderFailure(
  error: unknown,
  { setting, root }: ConfiguredFolder,
  path = pathOf(error) ?? root,
  otherwise?: string,
): unknown {
  const code = errorCode(error);
  const reason = code === 'ENOTDIR' ? 'lies below a file' : (REASONS[code] ?? unusual(code, otherwise));
  if (!(error instanceof Error) || reason === undefined) return error;
  const message = `${setting}=${JSON.stringify(root)} cannot be used: ${path === root ? 'it' : path} ${reason}`;
  return TEMPORARY_CODES.includes(code)
    ? new Unavailable(message, { cause: error })
    : new InvalidInput(message, { cause: error });
}

/** @param code `ENOENT` under `/proc`, `ENAMETOOLONG`, `EIO`, and whatever else a file system reports. */
function unusual(code: string, reason: string | undefined): string | undefined {
  return reason !== undefined && /^E[A-Z0-9]+$/.test(code) ? `${reason} (${code})` : undefined;
}

function pathOf(error: unknown): string | undefined {
  return error instanceof Error && 'path' in error ? String(error.path) : undefined;
}
