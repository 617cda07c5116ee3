import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { errorCode } from '../domain/error-causes.ts';
import { InvalidInput } from '../domain/errors.ts';
import { syncToDisk } from '../runtime/folder.ts';

/** The backup contains secrets. */
const OWNER_ONLY = 0o600;

/** Failures that an operator can correct, by the error code of the file system. */
const OBSTACLES: Record<string, string> = {
  ENOENT: 'there is no such folder',
  ENOTDIR: 'there is no such folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exceeded',
  EFBIG: 'the file is too large',
};

/**
 * Writes a `.tar.gz` under a temporary name; `path` appears only when it is complete.
 * @throws {InvalidInput} when the file cannot be written; what `chunks` throws.
 */
export async function writeArchive(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  // A random suffix, because a PID repeats in containers, where a killed backup may have left its file.
  const draft = `${path}.${crypto.randomUUID().slice(0, 8)}.partial`;
  try {
    const file = await open(draft, 'wx', OWNER_ONLY);
    await pipeline(Readable.from(chunks), createGzip(), file.createWriteStream());
    await syncToDisk(draft);
    await rename(draft, path);
    await syncToDisk(dirname(path));
  } catch (error) {
    await rm(draft, { force: true });
    const obstacle = OBSTACLES[errorCode(error)];
    throw obstacle === undefined ? error : new InvalidInput(`${path} cannot be written: ${obstacle}`);
  }
}
