import { expect, test } from 'bun:test';
import { createWriteStream, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip, gunzipSync } from 'node:zlib';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { aSteamId, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { consistent, packArchive, packHeader, unpackArchive } from '../../support/service/archive.ts';
import { openSoundsIn } from '../../support/service/backups.ts';
import { createTestFolder } from '../../support/service/program.ts';

const MB = 1024 * 1024;
const MAX_KB = 300 * 1024;
const root = createTestFolder();
const { db, url: databaseUrl, close } = await createTestDatabase();
await insertUser(db, 1);
const backup = join(root, 'backup.tar.gz');
await writeBackup(backup, { databaseUrl, ...(await openSoundsIn(root)) });
const large = await createTestDatabase();
await insertUser(large.db, 1);
await large.connection`insert into staff_notes (steamid64, text, created_at)
  select ${aSteamId(1)}, repeat(md5(n::text), 1500), now() from generate_series(1, 12000) as n`;
await Promise.all([close(), large.close()]);

/** The most memory that a process has used so far; undefined once it has ended. */
function readPeakKb(pid: number): number | undefined {
  try {
    return (
      Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) ||
      undefined
    );
  } catch {
    return undefined;
  }
}

function* entryOf(name: string, sizeMb: number, filling: string): Generator<Buffer> {
  yield packHeader({ name, sizeBytes: sizeMb * MB });
  for (let index = 0; index < sizeMb; index++) yield Buffer.alloc(MB, filling);
}

/** The files that a manifest can list, and many more. */
function* manyEntries(): Generator<Buffer> {
  for (let index = 0; index < 160_000; index++)
    yield packHeader({ name: `tables/users/${String(index).padStart(6, '0')}.ndjson`, sizeBytes: 0 });
}

/** Seven valid notes of 8 MB, and one that is none, so that all of them reach the database. */
async function longRows(): Promise<Buffer> {
  const row = (id: number) =>
    JSON.stringify({
      id,
      steamid64: aSteamId(1),
      author_user_id: null,
      penalty_id: null,
      text: 'ż'.repeat(3.9 * MB),
      created_at: 'now',
    });
  const name = 'tables/staff_notes/000001.ndjson';
  const lines = `${Array.from({ length: 7 }, (_, index) => row(index + 1)).join('\n')}\nnull\n`;
  const change = consistent(name, lines, ({ tables }) => {
    for (const table of tables) if (table.name === 'staff_notes') table.rows = 8;
  });
  return packArchive(change(unpackArchive(gunzipSync(await readFile(backup)))));
}

test.each<[string, () => Iterable<Buffer> | Promise<Iterable<Buffer>>, RegExp]>([
  [
    '2 GB of zeros as a part of a table',
    () => entryOf('tables/users/000001.ndjson', 2000, '\0'),
    /larger than 64 MB/,
  ],
  ['a row of 64 MB', () => entryOf('tables/users/000001.ndjson', 64, 'x'), /a row of .* is larger than 8 MB/],
  ['a manifest of brackets', () => entryOf('manifest.json', 16, '['), /its manifest has too many parts/],
  ['160,000 entries', manyEntries, /was altered/],
  ['rows of 8 MB', async () => [await longRows()], /line 8 of tables\/staff_notes\/000001.ndjson/],
])('an archive with %s is refused within 300 MB of memory', async (_, make, reason) => {
  const file = join(root, 'hostile.tar.gz');
  await pipeline(Readable.from(await make()), createGzip({ level: 1 }), createWriteStream(file));
  const { code, output, peakKb } = await runMeasured(['restore', file, '--replace', '--yes'], databaseUrl);
  expect([code, output]).toEqual([1, expect.stringMatching(reason)]);
  expect(peakKb).toBeGreaterThan(0);
  expect(peakKb).toBeLessThan(MAX_KB);
});

test('a backup of 12,000 texts of 48 KB takes less than 300 MB of memory', async () => {
  const { code, output, peakKb } = await runMeasured(['backup', join(root, 'large.tar.gz')], large.url);
  expect([code, output]).toEqual([0, expect.any(String)]);
  expect(peakKb).toBeGreaterThan(0);
  expect(peakKb).toBeLessThan(MAX_KB);
});

/** Runs the operator's tool. @returns what it wrote to stderr, and the most memory that it used. */
async function runMeasured(args: string[], url: string) {
  const [dataDir, storageDir] = [join(root, 'data'), join(root, 'storage')];
  const program = Bun.spawn(['bun', 'src/cli.ts', ...args], {
    env: { PATH: process.env.PATH, DATABASE_URL: url, DATA_DIR: dataDir, STORAGE_DIR: storageDir },
    stderr: 'pipe',
  });
  // Not from resourceUsage(), which counts the memory of this process before the other program began in it.
  let peakKb = 0;
  const timer = setInterval(() => (peakKb = readPeakKb(program.pid) ?? peakKb), 10);
  const output = await program.stderr.text();
  clearInterval(timer);
  return { code: await program.exited, output, peakKb };
}
