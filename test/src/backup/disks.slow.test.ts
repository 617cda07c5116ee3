import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reconcileSounds } from '../../../media/reconcile.ts';
import { restoreBackup } from '../../../src/backup/restore-backup.ts';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { InvalidInput, Unavailable } from '../../../src/domain/errors.ts';
import { UPLOAD_NAME } from '../../../src/domain/round-sound.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { aSteamId, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { mountSmallDisk } from '../../support/machine/small-disk.ts';
import {
  insertSoundFile,
  insertUpload,
  openSoundsIn,
  openSoundsOf,
  REPLACING,
  UPLOAD,
} from '../../support/service/backups.ts';
import { createTestFolder } from '../../support/service/program.ts';

const root = createTestFolder();
const small = await mountSmallDisk(join(root, 'disk'), 128 * 1024);
const [dataDir, storageDir] = [join(root, 'mounted'), join(root, 'mounted-storage')];
const folderDisks = [
  await mountSmallDisk(join(dataDir, 'inbox'), 1024 * 1024),
  await mountSmallDisk(join(storageDir, 'roundsound'), 1024 * 1024),
];
const testOnDisks = test.skipIf([small, ...folderDisks].some(({ isMounted }) => !isMounted));
const { db, connection, url: databaseUrl } = await createTestDatabase();

testOnDisks('a restore whose sounds do not fit says so in one line, and changes nothing', async () => {
  const files = await openSoundsIn(root);
  await insertSoundFile(db, files.folders, 1, 'a'.repeat(512 * 1024));
  const file = join(root, 'backup.tar.gz');
  await writeBackup(file, { databaseUrl, ...files });
  await insertUser(db, 2);

  const full = join(small.path, 'storage');
  const target = await openSoundsOf({ dataDir: join(root, 'data'), storageDir: full });
  await expect(restoreBackup(file, { databaseUrl, ...target }, REPLACING)).rejects.toThrow(
    new Unavailable(`STORAGE_DIR=${JSON.stringify(full)} cannot be used: it is on a disk that is full`),
  );
  expect([...(await connection`select steamid64::text as id from users`)]).toEqual([{ id: aSteamId(2) }]);
  expect(await readdir(full)).toEqual(['roundsound']);
});

testOnDisks('a backup that does not fit says so in one line, and leaves what was there', async () => {
  const files = await openSoundsIn(root, 'large-');
  await connection`truncate round_sounds`;
  await insertSoundFile(db, files.folders, 3, randomBytes(256 * 1024).toString('hex'));
  const earlier = join(small.path, 'earlier.tar.gz');
  await writeFile(earlier, 'an earlier backup');
  const before = await readdir(small.path);
  const file = join(small.path, 'backup.tar.gz');
  await expect(writeBackup(file, { databaseUrl, ...files })).rejects.toThrow(
    new InvalidInput(`${file} cannot be written: no space left on device`),
  );
  expect(await readdir(small.path)).toEqual(before);
  expect(await readFile(earlier, 'utf8')).toBe('an earlier backup');
});

testOnDisks(
  'folders on separate file systems: a restore fills them, and sets files without a row aside',
  async () => {
    const [sound, voice, other] = [`${aSteamId(1)}.mp3`, `${aSteamId(1)}.voice.mp3`, `${aSteamId(2)}.mp3`];
    const { folders, ...files } = await openSoundsOf({ dataDir, storageDir });
    const place = { databaseUrl, ...files };
    const readAside = async () => {
      const names = await readdir(folders.orphans);
      const contents = names.map((name) => readFile(join(folders.orphans, name), 'utf8'));
      return (await Promise.all(contents)).sort();
    };
    await connection`truncate round_sounds`;
    await insertSoundFile(db, folders, 1, 'a sound');
    await insertUpload(db, folders, 3, 'an upload');
    const file = join(root, 'mounted.tar.gz');
    await writeBackup(file, place);
    await writeFile(join(folders.published, sound), 'a later sound');
    await writeFile(join(folders.published, other), 'a sound of before');
    await restoreBackup(file, place, REPLACING);
    expect(await readdir(folders.published)).toEqual([sound]);
    expect(await readFile(join(folders.published, sound), 'utf8')).toBe('a sound');
    expect(await readdir(folders.inbox)).toEqual([UPLOAD]);
    expect(await readFile(join(folders.inbox, UPLOAD, UPLOAD_NAME), 'utf8')).toBe('an upload');
    expect(await readAside()).toEqual(['a later sound', 'a sound of before']);
    expect((await readdir(storageDir)).sort()).toEqual(['roundsound', 'roundsound-orphans']);
    expect(await readdir(dataDir)).toEqual(['inbox']);

    // As the service compares them with the database.
    await writeFile(join(folders.published, other), 'of nobody');
    await writeFile(join(folders.published, voice), 'a sound as voice');
    await reconcileSounds(db, files.sounds, createLogger('silent'));
    expect((await readdir(folders.published)).sort()).toEqual(['.published-sounds', sound, voice]);
    expect(await readAside()).toContain('of nobody');
  },
);
