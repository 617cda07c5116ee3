import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reconcileSounds } from '../../../media/reconcile.ts';
import { restoreBackup } from '../../../src/backup/restore-backup.ts';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { UPLOAD_NAME } from '../../../src/domain/round-sound.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { mountSmallDisk } from '../../support/machine/small-disk.ts';
import {
  insertSoundFile,
  insertUpload,
  openSoundsOf,
  REPLACING,
  UPLOAD,
} from '../../support/service/backups.ts';
import { createTestFolder } from '../../support/service/program.ts';

const FILE = `${aSteamId(1)}.mp3`;
const VOICE = `${aSteamId(1)}.voice.mp3`;
const BEFORE = `${aSteamId(2)}.mp3`;
const root = createTestFolder();
const [dataDir, storageDir] = [join(root.path, 'data'), join(root.path, 'storage')];
const disks = [
  await mountSmallDisk(join(dataDir, 'inbox'), 1024 * 1024),
  await mountSmallDisk(join(storageDir, 'roundsound'), 1024 * 1024),
];
const { db, url: databaseUrl } = await createTestDatabase();
const { folders, ...files } = await openSoundsOf({ dataDir, storageDir });
afterAll(async () => {
  for (const disk of disks) disk.unmount();
  await root.remove();
});

describe.skipIf(disks.some(({ isMounted }) => !isMounted))('folders on separate file systems', () => {
  beforeAll(async () => {
    await insertSoundFile(db, folders, 1, 'a sound');
    await insertUpload(db, folders, 3, 'an upload');
  });

  test('a restore puts sounds and uploads into them, and sets the earlier files aside', async () => {
    const file = join(root.path, 'backup.tar.gz');
    await writeBackup(file, { databaseUrl, ...files });
    await writeFile(join(folders.published, FILE), 'a later sound');
    await writeFile(join(folders.published, BEFORE), 'a sound of before');
    await restoreBackup(file, { databaseUrl, ...files }, REPLACING);
    expect(await readdir(folders.published)).toEqual([FILE]);
    expect(await readFile(join(folders.published, FILE), 'utf8')).toBe('a sound');
    expect(await readdir(folders.inbox)).toEqual([UPLOAD]);
    expect(await readFile(join(folders.inbox, UPLOAD, UPLOAD_NAME), 'utf8')).toBe('an upload');
    expect(await readAside()).toEqual(['a later sound', 'a sound of before']);
    expect((await readdir(storageDir)).sort()).toEqual(['roundsound', 'roundsound-orphans']);
    expect(await readdir(dataDir)).toEqual(['inbox']);
  });

  test('the comparison with the database sets a file without a row aside', async () => {
    await writeFile(join(folders.published, BEFORE), 'of nobody');
    await writeFile(join(folders.published, VOICE), 'a sound as voice');
    await reconcileSounds(db, files.sounds, createLogger('silent'));
    expect((await readdir(folders.published)).sort()).toEqual(['.published-sounds', FILE, VOICE]);
    expect(await readAside()).toContain('of nobody');
  });

  async function readAside(): Promise<string[]> {
    const names = await readdir(folders.orphans);
    const contents = names.map((name) => readFile(join(folders.orphans, name), 'utf8'));
    return (await Promise.all(contents)).sort();
  }
});
