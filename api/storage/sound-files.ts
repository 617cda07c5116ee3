import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { errorCode } from '../../src/domain/errors.ts';

export type SoundFile = {
  /** One copy in memory for all downloads. */
  blob: Blob;
  /** SHA-256 of the bytes, in hexadecimal. */
  hash: string;
  etag: string;
  /** In whole seconds, as `Last-Modified` shows it. */
  modifiedAt: Date;
};

/** @returns undefined when the folder has no regular file of this name. */
type ReadSound = (name: string) => Promise<SoundFile | undefined>;

/** Some 250 sounds of ten seconds; a sound of a minute is 1.4 MB. */
const CACHED_BYTES = 64 * 1024 * 1024;
/** Error codes for a missing file and a symbolic link. */
const NO_FILE_CODES = new Set(['ENOENT', 'ELOOP']);

/** Reads and hashes each version of a file once while it is cached; every request checks whether the file was replaced. */
export function createSoundReader(folder: string): ReadSound {
  const cache = new LRUCache<string, SoundFile, string>({
    maxSize: CACHED_BYTES,
    // lru-cache rejects a size of 0.
    sizeCalculation: ({ blob }) => Math.max(blob.size, 1),
    // A file that is evicted while it is read is still sent.
    ignoreFetchAbort: true,
    fetchMethod: (_version, _stale, { context: path }) => readSoundFile(path),
  });
  return async (name) => {
    const path = join(folder, name);
    try {
      const stats = await lstat(path, { bigint: true });
      if (!stats.isFile()) return undefined;
      // A replaced file has another inode, an overwritten one another time or size.
      const version = [path, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
      return await cache.fetch(version, { context: path });
    } catch (error) {
      if (NO_FILE_CODES.has(errorCode(error))) return undefined;
      throw error;
    }
  };
}

/** From one file handle, so that bytes and metadata are of one version even if the file is replaced meanwhile. */
async function readSoundFile(path: string): Promise<SoundFile | undefined> {
  // Symbolic links are not followed: they could lead out of the folder.
  await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const stats = await handle.stat();
  if (!stats.isFile()) return undefined;
  const bytes = await handle.readFile();
  const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex');
  const modifiedAt = new Date(Math.floor(stats.mtimeMs / 1000) * 1000);
  return { blob: new Blob([bytes]), hash, etag: `"${hash.slice(0, 32)}"`, modifiedAt };
}
