import { access, constants, mkdir } from 'node:fs/promises';
import { errorCode } from '../domain/error-causes.ts';
import { InvalidInput, Unavailable } from '../domain/errors.ts';

/** In `STORAGE_DIR`: the id that distinguishes it from another storage. */
export const STORAGE_ID_FILE = '.storage-id';

/** A folder that the operator names. */
export type ConfiguredFolder = { setting: 'DATA_DIR' | 'STORAGE_DIR'; root: string };

const REASONS: Record<string, string> = {
  EEXIST: 'is a file, not a folder',
  EACCES: 'may not be written by this user',
  EPERM: 'may not be written by this user',
  EROFS: 'is on a file system that is read-only',
  ENOSPC: 'is on a disk that is full',
  EDQUOT: 'is on a disk that is full',
};
const PASSING = ['ENOSPC', 'EDQUOT'];

/**
 * Makes a configured folder, and one in it, where they are missing, and sees that files can be made there.
 * @throws {InvalidInput} or {Unavailable} as {@link toFolderFailure}.
 */
export async function makeFolder(configured: ConfiguredFolder, path = configured.root): Promise<void> {
  for (const folder of new Set([configured.root, path])) {
    try {
      await mkdir(folder, { recursive: true });
      await access(folder, constants.W_OK | constants.X_OK);
    } catch (error) {
      throw toFolderFailure(error, configured, folder);
    }
  }
}

/**
 * One line that names the setting, for a failed call of the file system; any other error as it is.
 * @param path what could not be used, when it is not what the error names.
 */
export function toFolderFailure(
  error: unknown,
  { setting, root }: ConfiguredFolder,
  path = pathOf(error) ?? root,
): unknown {
  const code = errorCode(error);
  const reason = code === 'ENOTDIR' ? 'lies below a file' : REASONS[code];
  if (!(error instanceof Error) || reason === undefined) return error;
  const message = `${setting}=${JSON.stringify(root)} cannot be used: ${path === root ? 'it' : path} ${reason}`;
  return PASSING.includes(code)
    ? new Unavailable(message, { cause: error })
    : new InvalidInput(message, { cause: error });
}

function pathOf(error: unknown): string | undefined {
  return error instanceof Error && 'path' in error ? String(error.path) : undefined;
}
