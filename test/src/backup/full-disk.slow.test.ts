import { afterAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { restoreBackup } from '../../../src/backup/restore-backup.ts';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { InvalidInput, Unavailable } from '../../../src/domain/errors.ts';
import { aSteamId, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { mountSmallDisk } from '../../support/machine/small-disk.ts';
import { insertSoundFile, openSoundsIn, openSoundsOf, REPLACING } from '../../support/service/backups.ts';
import { createTestFolder } from '../../support/service/program.ts';

const root = createTestFolder();
const disk = await mountSmallDisk(join(root.path, 'disk'), 128 * 1024);
afterAll(async () => {
  disk.unmount();
  await root.remove();
});
const { db, connection, url: databaseUrl } = await createTestDatabase();

test.skipIf(!disk.isMounted)(
  'a restore whose sounds do not fit says so in one line, and changes nothing',
  async () => {
    const files = await openSoundsIn(root.path);
    await insertSoundFile(db, files.folders, 1, 'a'.repeat(512 * 1024));
    const file = join(root.path, 'backup.tar.gz');
    await writeBackup(file, { databaseUrl, ...files });
    await insertUser(db, 2);

    const storageDir = join(disk.path, 'storage');
    const small = await openSoundsOf({ dataDir: join(root.path, 'data'), storageDir });
    const restoring = restoreBackup(file, { databaseUrl, ...small }, REPLACING);
    await expect(restoring).rejects.toThrow(
      new Unavailable(
        `STORAGE_DIR=${JSON.stringify(storageDir)} cannot be used: it is on a disk that is full`,
      ),
    );
    expect([...(await connection`select steamid64::text as id from users`)]).toEqual([{ id: aSteamId(2) }]);
    expect(await readdir(storageDir)).toEqual(['roundsound']);
  },
);

test.skipIf(!disk.isMounted)(
  'a backup that does not fit says so in one line, and leaves what was there',
  async () => {
    const files = await openSoundsIn(root.path, 'large-');
    await connection`truncate round_sounds`;
    await insertSoundFile(db, files.folders, 3, randomBytes(256 * 1024).toString('hex'));
    const earlier = join(disk.path, 'earlier.tar.gz');
    await writeFile(earlier, 'an earlier backup');
    const before = await readdir(disk.path);
    const file = join(disk.path, 'backup.tar.gz');
    await expect(writeBackup(file, { databaseUrl, ...files })).rejects.toThrow(
      new InvalidInput(`${file} cannot be written: no space left on device`),
    );
    expect(await readdir(disk.path)).toEqual(before);
    expect(await readFile(earlier, 'utf8')).toBe('an earlier backup');
  },
);
