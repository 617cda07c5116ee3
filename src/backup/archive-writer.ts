import { createHash } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { createGzip } from 'node:zlib';
import { createTarPacker } from 'modern-tar';
import { errorCode } from '../domain/error-causes.ts';
import { InvalidInput } from '../domain/errors.ts';
import { syncToDisk } from '../runtime/folder.ts';
import type { BackupEntry } from './manifest.ts';

export type ArchiveWriter = {
  /** Adds an entry, and waits until it has been passed on to the file. */
  add: (name: string, bytes: Uint8Array) => Promise<BackupEntry>;
  /** Syncs the complete file to the disk and gives it its final name. */
  finish: () => Promise<void>;
  /** Removes the unfinished file. */
  abandon: () => Promise<void>;
};

/** The block size of tar: a header is one block, and entries are padded to whole blocks. */
const BLOCK_BYTES = 512;
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
 * @throws {InvalidInput} here and in `add` and `finish`, when the file cannot be written.
 */
export async function openArchiveWriter(path: string): Promise<ArchiveWriter> {
  // A random suffix, because a PID repeats in containers, where a killed backup may have left its file.
  const draft = `${path}.${crypto.randomUUID().slice(0, 8)}.partial`;
  const { readable, controller } = createTarPacker();
  let queuedBytes = 0;
  let passedBytes = 0;
  let passed = Promise.withResolvers<void>();

  async function* pass() {
    for await (const chunk of readable) {
      yield chunk;
      passedBytes += chunk.byteLength;
      passed.resolve();
      passed = Promise.withResolvers();
    }
  }
  const refuse = (error: unknown): never => {
    const obstacle = OBSTACLES[errorCode(error)];
    throw obstacle === undefined ? error : new InvalidInput(`${path} cannot be written: ${obstacle}`);
  };
  const file = await open(draft, 'wx', OWNER_ONLY).catch(refuse);
  const written = pipeline(Readable.from(pass()), createGzip(), file.createWriteStream()).catch(refuse);
  let failure: unknown;
  written.catch((error) => {
    failure = error;
  });

  async function write(name: string, bytes: Uint8Array): Promise<void> {
    const entry = controller
      .add({ name, size: bytes.byteLength, mode: OWNER_ONLY, type: 'file' })
      .getWriter();
    await entry.write(bytes);
    await entry.close();
    // The packer's queue is unlimited, so wait here. Names are short ASCII, so each entry has exactly one header block.
    queuedBytes += BLOCK_BYTES + Math.ceil(bytes.byteLength / BLOCK_BYTES) * BLOCK_BYTES;
    while (passedBytes < queuedBytes) await Promise.race([passed.promise, written]);
  }

  return {
    add: async (name, bytes) => {
      await write(name, bytes).catch(async (error) => {
        // When the file cannot be written, the packer may report its closed stream first.
        await setImmediate();
        throw failure ?? error;
      });
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return { name, sizeBytes: bytes.byteLength, sha256 };
    },
    finish: async () => {
      controller.finalize();
      await written;
      await syncToDisk(draft);
      await rename(draft, path);
      await syncToDisk(dirname(path));
    },
    abandon: async () => {
      controller.error(new Error('the backup was abandoned'));
      await written.catch(() => {});
      await rm(draft, { force: true });
    },
  };
}
