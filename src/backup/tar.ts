/** A file is no archive, or was changed; the message follows the name of the file. */
export class BadArchive extends Error {}

export const CONTINUES = 'was altered: it continues after its end';
export const TOO_SHORT = 'is not complete: it ends too early';

const BLOCK_BYTES = 512;
/** Ordinary tools fill the last one with zeros. */
const RECORD_BYTES = 20 * BLOCK_BYTES;
const REGULAR_FILE = '0';
/** Where the header holds its own checksum. */
const CHECKSUM = { start: 148, end: 156 };

const EMPTY_BLOCK = Buffer.alloc(BLOCK_BYTES);

/** The end of an archive. */
export const TAR_END = Buffer.alloc(2 * BLOCK_BYTES);

/**
 * An entry as the bytes of a tar archive. https://pubs.opengroup.org/onlinepubs/9699919799/utilities/pax.html#tag_20_92_13_06
 * @param name ASCII, at most 100 characters.
 */
export function packEntry(name: string, content: Uint8Array): Uint8Array[] {
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(name, 0);
  header.write('0000600\0', 100);
  header.write(toOctal(content.length, 11), 124);
  header.write(toOctal(Math.floor(Date.now() / 1000), 11), 136);
  header.write(REGULAR_FILE, 156);
  header.write('ustar\x0000', 257);
  header.write(`${toOctal(checksumOf(header), 6)}\0 `, CHECKSUM.start);
  return [header, content, Buffer.alloc(paddingOf(content.length))];
}

type TarEntry = { name: string; sizeBytes: number; content: AsyncIterable<Buffer> };

/**
 * Reads an archive of regular files with short names, as {@link packEntry} writes them.
 * @returns its entries. Content that was not read when the next entry is asked for is skipped.
 * @throws {BadArchive}
 */
export async function* readTar(chunks: AsyncIterable<Buffer>): AsyncGenerator<TarEntry, void> {
  const source = chunks[Symbol.asyncIterator]();
  let unread: Buffer = Buffer.alloc(0);

  async function* take(sizeBytes: number): AsyncGenerator<Buffer, void> {
    for (let missingBytes = sizeBytes; missingBytes > 0; ) {
      if (unread.length === 0) {
        const { done, value } = await source.next();
        if (done) throw new BadArchive(TOO_SHORT);
        unread = value;
      }
      const part = unread.subarray(0, missingBytes);
      unread = unread.subarray(part.length);
      missingBytes -= part.length;
      yield part;
    }
  }
  const readBlock = async () => Buffer.concat(await Array.fromAsync(take(BLOCK_BYTES)));

  for (let header = await readBlock(); !header.equals(EMPTY_BLOCK); header = await readBlock()) {
    const { name, sizeBytes } = parseHeader(header);
    const content = take(sizeBytes);
    yield { name, sizeBytes, content };
    await drain(content);
    await drain(take(paddingOf(sizeBytes)));
  }
  // The second zero block, and the rest of the last record; reading to the end verifies gzip's checksum.
  let rest: Buffer = Buffer.concat([await readBlock(), unread]);
  for (let restBytes = 0; ; ) {
    restBytes += rest.length;
    if (restBytes > RECORD_BYTES || rest.some(Boolean)) throw new BadArchive(CONTINUES);
    const { done, value } = await source.next();
    if (done) return;
    rest = value;
  }
}

/** Reads to the end. */
export async function drain(chunks: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of chunks);
}

function parseHeader(header: Buffer): { name: string; sizeBytes: number } {
  const [, checksum = ''] = /^ *([0-7]+)/.exec(header.toString('latin1', CHECKSUM.start, CHECKSUM.end)) ?? [];
  if (Number.parseInt(checksum, 8) !== checksumOf(header)) {
    throw new BadArchive('is damaged: the checksum of an entry is wrong');
  }
  const [, size] = /^([0-7]{11})[\0 ]$/.exec(header.toString('latin1', 124, 136)) ?? [];
  if (!size || header.toString('latin1', 156, 157) !== REGULAR_FILE) {
    throw new BadArchive('was altered: it has an entry that is not a regular file');
  }
  return { name: header.toString('latin1', 0, header.indexOf(0)), sizeBytes: Number.parseInt(size, 8) };
}

/** The sum of all bytes, with the checksum itself taken as spaces. */
function checksumOf(header: Buffer): number {
  let sum = ' '.charCodeAt(0) * (CHECKSUM.end - CHECKSUM.start);
  for (let at = 0; at < header.length; at++)
    if (at < CHECKSUM.start || at >= CHECKSUM.end) sum += header.readUInt8(at);
  return sum;
}

function toOctal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, '0');
}

function paddingOf(sizeBytes: number): number {
  return (BLOCK_BYTES - (sizeBytes % BLOCK_BYTES)) % BLOCK_BYTES;
}
