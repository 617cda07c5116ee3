import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { readArchive, writeArchive } from '../../../src/backup/archive.ts';
import { restoreBackup } from '../../../src/backup/restore-backup.ts';
import { listTables } from '../../../src/backup/tables.ts';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { InvalidInput } from '../../../src/domain/errors.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { aSteamId, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { readEveryTable } from '../../support/database/every-table.ts';
import { type ArchiveEntry, packArchive, unpackArchive } from '../../support/service/archive.ts';
import { insertSoundFile, insertUpload, openFoldersIn, REPLACING } from '../../support/service/backups.ts';
import { createTestFolder } from '../../support/service/program.ts';

const SOUND = `sounds/${aSteamId(9)}.mp3`;
const root = createTestFolder();
afterAll(root.remove);
const { db, connection, url: databaseUrl } = await createTestDatabase();
const folders = await openFoldersIn(root.path);
const place = { databaseUrl, folders };
const file = join(root.path, 'backup.tar.gz');

beforeAll(async () => {
  await insertUser(db, 1);
  await insertSoundFile(db, folders, 1, 'a sound');
  await insertUpload(db, folders, 2, 'an upload');
  await writeBackup(file, place);
  // What a refused restore leaves untouched.
  await insertUser(db, 3);
  await writeFile(join(folders.published, `${aSteamId(1)}.mp3`), 'a later sound');
});

async function readAll() {
  const names = (await readdir(root.path, { recursive: true })).filter((name) => !name.includes('.tar.gz'));
  return {
    names: names.sort(),
    sound: await readFile(join(folders.published, `${aSteamId(1)}.mp3`), 'utf8'),
    rows: await readEveryTable(connection, await listTables(connection)),
  };
}

/** An entry that is added before all others. */
const added = (entry: Partial<ArchiveEntry>) => (entries: ArchiveEntry[]) => [
  { name: SOUND, body: Buffer.alloc(0), ...entry },
  ...entries,
];
const altered = (name: string, from: RegExp, to: string) => (entries: ArchiveEntry[]) =>
  entries.map((entry) =>
    entry.name === name ? { ...entry, body: Buffer.from(entry.body.toString().replace(from, to)) } : entry,
  );
const manifest = (from: RegExp, to: string) => altered('manifest.json', from, to);
const NOT_REGULAR = 'was altered: it has an entry that is not a regular file';

test.each<[string, (entries: ArchiveEntry[]) => ArchiveEntry[], string]>([
  ['a symbolic link', added({ type: '2', linkName: '/etc/passwd' }), NOT_REGULAR],
  ['a hard link', added({ type: '1', linkName: SOUND }), NOT_REGULAR],
  ['an extended header', added({ type: 'x', body: Buffer.from('12 path=a/b\n') }), NOT_REGULAR],
  [
    'an upload whose name is no key',
    added({ name: `uploads/${'-'.repeat(36)}` }),
    'is not a backup of this service',
  ],
  ['a path that leaves its folder', added({ name: 'sounds/../x.mp3' }), 'is not a backup of this service'],
  ['an unknown file', added({ name: 'x' }), 'is not a backup of this service'],
  [
    'another size in the manifest',
    manifest(/"sizeBytes": 7,/, '"sizeBytes": 8,'),
    `was altered: sounds/${aSteamId(1)}.mp3 is not what its manifest says`,
  ],
  [
    'other rows than its manifest says',
    altered('tables/users/000001.ndjson', /"is_admin":(true|false)/, '"is_admin":null'),
    'was altered: tables/users/000001.ndjson is not what its manifest says',
  ],
  ['a manifest that is no JSON', manifest(/^\{/, '['), 'is not a backup of this service'],
  [
    'another format',
    manifest(/"formatVersion": 1/, '"formatVersion": 9'),
    'has format 9, and this version reads format 1: use the version that made it (1.0.0)',
  ],
  [
    'an entry after the manifest',
    (entries) => [...entries, { name: SOUND, body: Buffer.alloc(0) }],
    'was altered: it continues after its manifest',
  ],
])('an archive with %s is refused, and folders and rows are as before', async (_, change, reason) => {
  const before = await readAll();
  const broken = join(root.path, 'broken.tar.gz');
  const entries = change(unpackArchive(gunzipSync(await readFile(file))));
  await writeFile(broken, gzipSync(packArchive(entries)));
  const restoring = restoreBackup(broken, place, REPLACING);
  const message = await restoring.then(String, (error) => [error.constructor, error.message]);
  expect(message).toEqual([InvalidInput, `${broken} ${reason}`]);
  expect(await readAll()).toEqual(before);
});

test('a restore without --replace wants folders that are empty too', async () => {
  const empty = await createTestDatabase();
  const restoring = restoreBackup(
    file,
    { ...place, databaseUrl: empty.url },
    { log: createLogger('silent') },
  );
  await expect(restoring).rejects.toThrow(
    new InvalidInput(
      'The folder of sounds is not empty (sound files: 1, uploads: 1): use --replace to replace everything in it',
    ),
  );
});

test('the same archive without a change is restored', async () => {
  const repacked = join(root.path, 'repacked.tar.gz');
  await writeFile(repacked, gzipSync(packArchive(unpackArchive(gunzipSync(await readFile(file))))));
  await restoreBackup(repacked, place, REPLACING);
  expect((await readAll()).sound).toBe('a sound');
});

test('names of tables in a manifest are no SQL, and triggers work again whatever it lists', async () => {
  const odd = join(root.path, 'odd.tar.gz');
  const rename = manifest(
    /"tables": \[[^\]]*\]/,
    JSON.stringify({
      tables: [{ name: 'users" enable trigger user; drop table staff_notes; --', rows: 0 }],
    }).slice(1, -1),
  );
  await writeFile(odd, gzipSync(packArchive(rename(unpackArchive(gunzipSync(await readFile(file)))))));
  await restoreBackup(odd, place, REPLACING);
  expect(await listTables(connection)).toContain('staff_notes');
  const disabled = await connection`select tgname from pg_trigger where not tgisinternal and tgenabled = 'D'`;
  expect([...disabled]).toEqual([]);
});

test('a connection that is lost meanwhile is not reported as a failure of the file', async () => {
  const loss = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
  const about = {
    takenAt: '',
    productVersion: '',
    postgresVersion: '',
    migrations: [],
    tables: [],
    sequences: [],
  };
  // biome-ignore lint/correctness/useYield: it fails before its first entry.
  async function* entries() {
    throw loss;
  }
  await expect(writeArchive(join(root.path, 'lost.tar.gz'), entries(), about)).rejects.toBe(loss);
  await expect(readArchive(file, { onEntry: () => Promise.reject(loss) })).rejects.toBe(loss);
});
