import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { UPLOAD_NAME } from '../../../media/rendering/decode.ts';
import { openSoundFolders } from '../../../media/sound-files.ts';
import { restoreBackup } from '../../../src/backup/restore-backup.ts';
import { listTables } from '../../../src/backup/tables.ts';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { InvalidInput } from '../../../src/domain/errors.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { aSteamId, insertReadySound, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { readEveryTable } from '../../support/database/every-table.ts';
import { type ArchiveEntry, packArchive, unpackArchive } from '../../support/service/archive.ts';
import { createTestFolder } from '../../support/service/program.ts';

const UPLOAD = '0190c2a5-7a51-7c52-a6a1-2f6a0d2f9c11';
const SOUND = `sounds/${aSteamId(9)}.mp3`;
const root = createTestFolder();
afterAll(root.remove);
const { db, connection, url: databaseUrl } = await createTestDatabase();
const folders = await openSoundFolders({
  dataDir: join(root.path, 'data'),
  storageDir: join(root.path, 'storage'),
});
const place = { databaseUrl, folders, uploadName: UPLOAD_NAME };
const file = join(root.path, 'backup.tar.gz');
const hash = (bytes: string | Uint8Array) => createHash('sha256').update(bytes).digest('hex');

beforeAll(async () => {
  await insertUser(db, 1);
  await writeFile(join(folders.published, `${aSteamId(1)}.mp3`), 'a sound');
  await insertReadySound(db, aSteamId(1), 'track.wav', { sha256: hash('a sound') });
  await Bun.write(join(folders.inbox, UPLOAD, UPLOAD_NAME), 'an upload');
  await insertReadySound(db, aSteamId(2), 'waits.wav', {
    status: 'queued',
    uploadKey: UPLOAD,
    sha256: null,
    readyAt: null,
  });
  await writeBackup(file, { ...place, productVersion: '0.1.0' });
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

test.each<[string, (entries: ArchiveEntry[]) => ArchiveEntry[], string | RegExp]>([
  ['a symbolic link', added({ type: '2', linkName: '/etc/passwd' }), NOT_REGULAR],
  ['a hard link', added({ type: '1', linkName: SOUND }), NOT_REGULAR],
  ['a file with the target of a link', added({ linkName: '/etc/passwd' }), NOT_REGULAR],
  ['a character device', added({ type: '3' }), NOT_REGULAR],
  ['a block device', added({ type: '4' }), NOT_REGULAR],
  ['a directory', added({ type: '5' }), NOT_REGULAR],
  ['a FIFO', added({ type: '6' }), NOT_REGULAR],
  ['a sparse file', added({ type: 'S' }), NOT_REGULAR],
  ['an extended header', added({ type: 'x', body: Buffer.from('12 path=a/b\n') }), NOT_REGULAR],
  ['a broken extended header', added({ type: 'x', body: Buffer.from('9999 =\n') }), NOT_REGULAR],
  ['a global header', added({ type: 'g', body: Buffer.from('19 size=99999999999\n') }), NOT_REGULAR],
  ['a long name', added({ type: 'L', body: Buffer.from(`${SOUND}\0`) }), NOT_REGULAR],
  [
    'an upload whose name is no key',
    added({ name: `uploads/${'-'.repeat(36)}` }),
    'is not a backup of this service',
  ],
  ['a path that leaves its folder', added({ name: 'sounds/../x.mp3' }), 'is not a backup of this service'],
  ['an unknown file', added({ name: 'x' }), 'is not a backup of this service'],
  ['a large sound', added({ body: Buffer.alloc(17 * 1024 * 1024) }), `was altered: ${SOUND} is too large`],
  [
    'an upload_key that leaves its folder',
    altered('tables/round_sounds/000001.ndjson', new RegExp(UPLOAD), '../../victim'),
    'was altered: tables/round_sounds/000001.ndjson has an upload_key that is not a UUID',
  ],
  [
    'a row without an upload_key',
    altered('tables/round_sounds/000001.ndjson', /"upload_key"/, '"upload-key"'),
    'was altered: tables/round_sounds/000001.ndjson has an upload_key that is not a UUID',
  ],
  [
    'an entry of the manifest that is a number',
    manifest(/"entries": \[/, '"entries": [5,'),
    'was altered: its manifest is not complete',
  ],
  [
    'a sequence that is a list',
    manifest(/"sequences": \[/, '"sequences": [["a"],'),
    'was altered: its manifest is not complete',
  ],
  [
    'another size in the manifest',
    manifest(/"sizeBytes": 7,/, '"sizeBytes": 8,'),
    `was altered: sounds/${aSteamId(1)}.mp3 is not what its manifest says`,
  ],
  [
    'another hash in the manifest',
    manifest(/"sha256": "[0-9a-f]/, '"sha256": "z'),
    'was altered: its manifest is not complete',
  ],
  [
    'an entry after the manifest',
    (entries) => [...entries, { name: SOUND, body: Buffer.alloc(0) }],
    'was altered: it continues after its manifest',
  ],
  [
    'rows that do not fit',
    altered('tables/users/000001.ndjson', /"is_admin":(true|false)/, '"is_admin":null'),
    /has rows of users that do not fit: null value in column/,
  ],
  [
    'rows that are no JSON',
    altered('tables/users/000001.ndjson', /^\{/, '['),
    /has rows of users that do not fit: invalid input syntax/,
  ],
])('an archive with %s is refused, and folders and rows are as before', async (_, change, reason) => {
  const before = await readAll();
  const broken = join(root.path, 'broken.tar.gz');
  const entries = change(unpackArchive(gunzipSync(await readFile(file))));
  await writeFile(broken, gzipSync(packArchive(entries)));
  const restoring = restoreBackup(broken, place, {
    log: createLogger('silent'),
    confirmLoss: async () => {},
  });
  const message = await restoring.then(String, (error) => [error.constructor, error.message]);
  expect(message).toEqual([
    InvalidInput,
    typeof reason === 'string' ? `${broken} ${reason}` : expect.stringMatching(reason),
  ]);
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
  await restoreBackup(repacked, place, { log: createLogger('silent'), confirmLoss: async () => {} });
  expect((await readAll()).sound).toBe('a sound');
});
