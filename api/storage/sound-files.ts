import { type BigIntStats, constants } from 'node:fs';
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

export type SoundFiles = {
  /** @returns undefined when the folder has no regular file of this name. */
  read: (name: string) => Promise<SoundFile | undefined>;
};

/** Some 250 sounds of ten seconds; a sound of a minute is 1.4 MB. */
const CACHED_BYTES = 64 * 1024 * 1024;
/** Error codes for a missing file and a symbolic link. */
const NO_FILE_CODES = new Set(['ENOENT', 'ELOOP']);

/** Reads and hashes each version of a file once while it is cached; every request checks whether the file was replaced. */
export function createSoundFiles(folder: string): SoundFiles {
  const cache = new LRUCache<string, SoundFile>({
    maxSize: CACHED_BYTES,
    // lru-cache rejects a size of 0.
    sizeCalculation: ({ blob }) => Math.max(blob.size, 1),
  });

  /** By version: concurrent requests for a sound that is not cached read it once. */
  const reads = new Map<string, Promise<SoundFile | undefined>>();

  async function read(path: string): Promise<SoundFile | undefined> {
    const stats = await lstat(path, { bigint: true });
    if (!stats.isFile()) return undefined;
    const version = versionOf(path, stats);
    return (
      cache.get(version) ??
      reads.getOrInsertComputed(version, () => readVersion(path).finally(() => reads.delete(version)))
    );
  }

  /** From one file handle, so that bytes and metadata are of one version even if the file is replaced meanwhile. */
  async function readVersion(path: string): Promise<SoundFile | undefined> {
    // Symbolic links are not followed: they could lead out of the folder.
    await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const stats = await handle.stat({ bigint: true });
    if (!stats.isFile()) return undefined;
    const bytes = await handle.readFile();
    const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex');
    const modifiedAt = new Date(Number(stats.mtimeMs / 1000n) * 1000);
    const file = { blob: new Blob([bytes]), hash, etag: `"${hash.slice(0, 32)}"`, modifiedAt };
    cache.set(versionOf(path, stats), file);
    return file;
  }

  return {
    read: (name) =>
      read(join(folder, name)).catch((error: unknown) => {
        if (NO_FILE_CODES.has(errorCode(error))) return undefined;
        throw error;
      }),
  };
}

/** A replaced file has another inode, an overwritten one another time or size. */
function versionOf(path: string, { ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [path, ino, size, mtimeNs, ctimeNs].join(' ');
}
