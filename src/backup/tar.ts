import { createHash } from 'node:crypto';

/** The file is no backup, or not as it was written; the message follows its name. */
export class TarError extends Error {
  override name = 'TarError';
}

const BLOCK_BYTES = 512;
const OWNER_ONLY = '0000600\0';
const MAGIC = 'ustar\x0000';
const REGULAR_FILE = '0';
/** What follows the last entry. */
export const TAR_END: Buffer = Buffer.alloc(2 * BLOCK_BYTES);

/**
 * An entry as the bytes of a tar archive.
 * @param name ASCII, at most 100 characters.
 */
export function packEntry(name: string, content: Uint8Array): Uint8Array[] {
  return [makeHeader(name, content.length), content, Buffer.alloc(paddingOf(content.length))];
}

/** SHA-256, hexadecimal. */
export function hashOf(content: Uint8Array): string {
  return createHash('sha256').update(content).digest('hex');
}

/**
 * Reads an archive of regular files with short names, as {@link packEntry} writes them.
 * @throws {TarError} for any other entry, and when the archive ends too early.
 */
export async function* readTar(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ name: string; content: Buffer }, void> {
  const source = chunks[Symbol.asyncIterator]();
  let unread: Uint8Array = new Uint8Array();

  async function read(sizeBytes: number): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for (let leftBytes = sizeBytes; leftBytes > 0; ) {
      if (unread.length === 0) {
        const { done, value } = await source.next();
        if (done) throw new TarError('is not complete: it ends too early');
        unread = value;
      }
      const part = unread.subarray(0, leftBytes);
      unread = unread.subarray(part.length);
      leftBytes -= part.length;
      parts.push(part);
    }
    return Buffer.concat(parts, sizeBytes);
  }

  for (;;) {
    const header = await read(BLOCK_BYTES);
    if (header.every((byte) => byte === 0)) break;
    const { name, sizeBytes } = parseHeader(header);
    yield { name, content: await read(sizeBytes) };
    await read(paddingOf(sizeBytes));
  }
  // To the end, where gzip has its checksum.
  while (!(await source.next()).done);
}

/** https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06 */
function makeHeader(name: string, sizeBytes: number): Buffer {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0);
  header.write(OWNER_ONLY, 100);
  header.write(toOctal(sizeBytes, 11), 124);
  header.write(toOctal(Math.floor(Date.now() / 1000), 11), 136);
  header.write(REGULAR_FILE, 156);
  header.write(MAGIC, 257);
  // The sum of all bytes, with the checksum itself taken as spaces.
  header.write(' '.repeat(8), 148);
  const checksum = header.reduce((sum, byte) => sum + byte, 0);
  header.write(`${toOctal(checksum, 6)}\0 `, 148);
  return header;
}

function parseHeader(header: Buffer): { name: string; sizeBytes: number } {
  const [, size] = /^([0-7]{11})[\0 ]$/.exec(header.toString('latin1', 124, 136)) ?? [];
  if (!size || header.toString('latin1', 156, 157) !== REGULAR_FILE) {
    throw new TarError('was altered: it has an entry that is not a regular file');
  }
  return { name: header.toString('latin1', 0, header.indexOf(0)), sizeBytes: Number.parseInt(size, 8) };
}

function toOctal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

function paddingOf(sizeBytes: number): number {
  return (BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES;
}
