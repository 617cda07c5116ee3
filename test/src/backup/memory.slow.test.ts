import { afterAll, expect, test } from 'bun:test';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { createTestDatabase } from '../../support/database/database.ts';
import { packHeader } from '../../support/service/archive.ts';
import { createTestFolder } from '../../support/service/program.ts';

const MIB = 1024 * 1024;
const MAX_BYTES = 300 * MIB;
const root = createTestFolder();
afterAll(root.remove);
const database = await createTestDatabase();

/** Entries with this text over and over as their content, or without any. */
function* packRepeated(names: Iterable<string>, sizeMib: number, text = '\0') {
  const chunk = Buffer.alloc(MIB, text);
  for (const name of names) {
    yield packHeader({ name, sizeBytes: sizeMib * MIB });
    for (let mib = 0; mib < sizeMib; mib++) yield chunk;
  }
}
function* numbered(count: number) {
  for (let part = 0; part < count; part++) yield `tables/users/${String(part).padStart(6, '0')}.ndjson`;
}

test.each<[string, () => Iterable<Buffer>]>([
  ['a part of a table of 200 MB', () => packRepeated(numbered(1), 200, '{"id":1}\n')],
  ['a row of 200 MB', () => packRepeated(numbered(1), 200, ' ')],
  ['an entry larger than any', () => packRepeated(numbered(1), 3000)],
  ['a manifest of many values', () => packRepeated(['manifest.json'], 20, '{},')],
  ['a manifest larger than any', () => packRepeated(['manifest.json'], 2000, '[')],
  ['more entries than any', () => packRepeated(numbered(150_000), 0)],
])('an archive with %s is refused in little memory', async (_, pack) => {
  const file = join(root.path, 'large.tar.gz');
  await pipeline(Readable.from(pack()), createGzip({ level: 1 }), createWriteStream(file));
  const restore = Bun.spawn(['bun', 'src/cli.ts', 'restore', file], {
    env: { ...process.env, DATABASE_URL: database.url, DATA_DIR: root.path, STORAGE_DIR: root.path },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const peakBytes = readPeakBytes(restore);
  const said = await restore.stderr.text();
  expect(await restore.exited).toBe(1);
  expect(said).toMatch(/^checking .*\n.* (?:is not complete|is not a backup|was altered).*\n$/);
  expect(await peakBytes).toBeWithin(1, MAX_BYTES);
});

/**
 * The most memory that a process had, read until it ends. Its `resourceUsage` would begin with that of this process, from
 * which it was forked.
 */
async function readPeakBytes(process: Bun.Subprocess): Promise<number> {
  let peakKib = 0;
  while (process.exitCode === null) {
    const status = await Bun.file(`/proc/${process.pid}/status`)
      .text()
      .catch(() => '');
    peakKib = Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? peakKib);
    await Bun.sleep(5);
  }
  return peakKib * 1024;
}
