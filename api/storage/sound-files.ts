import { type BigIntStats, constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { errorCode } from '../../src/domain/error-causes.ts';

export type SoundFile = {
  /** The bytes, in memory once however many download them. */
  blob: Blob;
  /** SHA-256 of the bytes, in hexadecimal. */
  hash: string;
  etag: string;
  /** In whole seconds, as `Last-Modified` shows it. */
  modifiedAt: Date;
};

export type SoundFiles = {
  /** @param name of a file in the folder. Undefined: there is none, or a link or a folder. */
  read: (name: string) => Promise<SoundFile | undefined>;
};

/** Some 250 sounds of ten seconds; a sound of a minute is 1.4 MB. */
const CACHED_BYTES = 64 * 1024 * 1024;
/** What looking at or opening a file says when there is none to serve: none at all, a link, a folder. */
const NO_FILE_CODES = new Set(['ENOENT', 'ELOOP', 'EISDIR']);

/** Reads and hashes each version of a file once while it is asked for; that a file was replaced is seen at every request. */
export function createSoundFiles(folder: string): SoundFiles {
  const cache = new LRUCache<string, SoundFile>({
    maxSize: CACHED_BYTES,
    // lru-cache takes no size of 0.
    sizeCalculation: ({ blob }) => Math.max(blob.size, 1),
  });
  const loading = new Map<string, Promise<SoundFile | undefined>>();

  async function load(path: string): Promise<SoundFile | undefined> {
    const found = await readVersion(path);
    if (!found) return undefined;
    cache.set(found.version, found.file);
    return found.file;
  }

  async function read(name: string): Promise<SoundFile | undefined> {
    const path = join(folder, name);
    const stats = await lstat(path, { bigint: true });
    if (!stats.isFile()) return undefined;
    const version = versionOf(path, stats);
    const known = cache.get(version) ?? loading.get(version);
    if (known) return known;
    const loaded = load(path).finally(() => loading.delete(version));
    loading.set(version, loaded);
    return loaded;
  }

  return {
    read: (name) =>
      read(name).catch((error: unknown) => {
        if (NO_FILE_CODES.has(errorCode(error))) return undefined;
        throw error;
      }),
  };
}

/** All of it from one open file, so that a replacement in the middle mixes nothing. */
async function readVersion(path: string): Promise<{ version: string; file: SoundFile } | undefined> {
  // A link that somebody put there is not followed out of the folder.
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const stats = await handle.stat({ bigint: true });
    if (!stats.isFile()) return undefined;
    const bytes = await handle.readFile();
    const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex');
    const modifiedAt = new Date(Number(stats.mtimeMs / 1000n) * 1000);
    const file = { blob: new Blob([bytes]), hash, etag: `"${hash.slice(0, 32)}"`, modifiedAt };
    return { version: versionOf(path, stats), file };
  } finally {
    await handle.close();
  }
}

/** A file that is replaced is another one; one that is written to has another time or size. */
function versionOf(path: string, { ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [path, ino, size, mtimeNs, ctimeNs].join(' ');
}
