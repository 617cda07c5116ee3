import type { Manifest } from '../../../src/backup/archive.ts';
import { hash } from './backups.ts';

/** An entry of a tar archive, with the type as its header has it. */
export type ArchiveEntry = { name: string; body: Buffer; type?: string; linkName?: string };

const BLOCK = 512;
const padded = (size: number) => Math.ceil(size / BLOCK) * BLOCK;

/** The regular files of a tar archive. */
export function unpackArchive(tar: Buffer): ArchiveEntry[] {
  const entries: ArchiveEntry[] = [];
  for (let at = 0; tar[at] !== 0; ) {
    const name = tar.toString('latin1', at, at + 100).replace(/\0.*$/s, '');
    const size = Number.parseInt(tar.toString('latin1', at + 124, at + 135), 8);
    entries.push({ name, body: tar.subarray(at + BLOCK, at + BLOCK + size) });
    at += BLOCK + padded(size);
  }
  return entries;
}

/** A tar archive. */
export function packArchive(entries: readonly ArchiveEntry[]): Buffer {
  const blocks = entries.flatMap((entry) => [
    packHeader({ ...entry, sizeBytes: entry.body.length }),
    entry.body,
    Buffer.alloc(padded(entry.body.length) - entry.body.length),
  ]);
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

/** The header of an entry. */
export function packHeader({
  name,
  sizeBytes,
  type = '0',
  linkName = '',
}: Omit<ArchiveEntry, 'body'> & { sizeBytes: number }): Buffer {
  const header = Buffer.alloc(BLOCK);
  header.write(name, 0);
  header.write('0000644\0', 100);
  header.write(sizeBytes.toString(8).padStart(11, '0'), 124);
  header.write('0'.repeat(11), 136);
  header.write(' '.repeat(8), 148);
  header.write(type, 156);
  header.write(linkName, 157);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

/** Other values in a manifest. */
export const declaring = (values: object) => (entries: ArchiveEntry[]) =>
  entries.map((entry) => {
    if (entry.name !== 'manifest.json') return entry;
    return {
      ...entry,
      body: Buffer.from(JSON.stringify({ ...JSON.parse(entry.body.toString()), ...values })),
    };
  });
type Listing = Pick<Manifest, 'entries' | 'tables'>;
/** Other content for an entry, or a new one, which the manifest describes as it is. */
export const consistent =
  (name: string, body: string, change: (listing: Listing) => void = () => {}) =>
  (all: ArchiveEntry[]) => {
    const content = Buffer.from(body);
    const others = all.filter((entry) => entry.name !== name && entry.name !== 'manifest.json');
    const listing: Listing = JSON.parse(all.at(-1)?.body.toString() ?? '');
    const described = { name, sizeBytes: content.length, sha256: hash(body) };
    listing.entries = [...listing.entries.filter((entry) => entry.name !== name), described];
    change(listing);
    return declaring(listing)([...others, { name, body: content }, ...all.slice(-1)]);
  };
