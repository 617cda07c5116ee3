import { createHash } from 'node:crypto';

/** An entry of an archive. Its body has to be read before the next entry is. */
export type TarEntry = { name: string; sizeBytes: number; body: AsyncGenerator<Uint8Array, void> };

/** The bytes are no tar archive of regular files, or end too early. */
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
 * @param sizeBytes the length of `content`.
 * @returns the SHA-256 of the content, hexadecimal.
 */
export async function* packEntry(
  name: string,
  sizeBytes: number,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array, string> {
  const hash = createHash('sha256');
  yield makeHeader(name, sizeBytes);
  for await (const chunk of content) {
    hash.update(chunk);
    yield chunk;
  }
  yield Buffer.alloc(paddingOf(sizeBytes));
  return hash.digest('hex');
}

/**
 * Reads an archive of regular files with short names, as {@link packEntry} writes them: links, devices, folders, sparse
 * files and extended headers are refused.
 * @throws {TarError}
 */
export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry, void> {
  const source = chunks[Symbol.asyncIterator]();
  let unread: Uint8Array = Buffer.alloc(0);

  async function* read(sizeBytes: number): AsyncGenerator<Uint8Array, void> {
    for (let leftBytes = sizeBytes; leftBytes > 0; ) {
      if (unread.length === 0) {
        const { done, value } = await source.next();
        if (done) throw new TarError('is not complete: it ends too early');
        unread = value;
      }
      const part = unread.subarray(0, leftBytes);
      unread = unread.subarray(part.length);
      leftBytes -= part.length;
      if (part.length > 0) yield part;
    }
  }

  for (;;) {
    const header = await collect(read(BLOCK_BYTES));
    if (isZero(header)) break;
    const { name, sizeBytes } = parseHeader(header);
    yield { name, sizeBytes, body: read(sizeBytes) };
    for await (const _ of read(paddingOf(sizeBytes)));
  }
  for (let rest: Uint8Array | undefined = unread; rest; { value: rest } = await source.next()) {
    if (!isZero(rest)) throw new TarError('was altered: it continues after its end');
  }
}

/** All bytes of a body that is known to be small. */
export async function collect(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(body));
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
  header.write(`${toOctal(checksumOf(header), 6)}\0 `, 148);
  return header;
}

function parseHeader(header: Buffer): { name: string; sizeBytes: number } {
  const text = header.toString('latin1');
  const [, size] = /^([0-7]{11})[\0 ]$/.exec(text.slice(124, 136)) ?? [];
  const checksum = Number.parseInt(text.slice(148, 156), 8);
  if (!size || checksum !== checksumOf(header) || !text.startsWith('ustar', 257)) {
    throw new TarError('is damaged: it cannot be unpacked');
  }
  const [linkName, prefix] = [text.slice(157, 257), text.slice(345, 500)];
  if (text[156] !== REGULAR_FILE || /[^\0]/.test(linkName + prefix)) {
    throw new TarError('was altered: it has an entry that is not a regular file');
  }
  // Not a slice of `text`, which would keep all of the header in memory.
  const name = header.toString('latin1', 0, header.indexOf(0));
  return { name, sizeBytes: Number.parseInt(size, 8) };
}

function toOctal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

/** The sum of all bytes, with the checksum itself taken as spaces. */
function checksumOf(header: Buffer): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

function paddingOf(sizeBytes: number): number {
  return (BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES;
}

function isZero(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0);
}
