import { afterAll, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UPLOAD_NAME } from '../../../media/rendering/decode.ts';
import { openSoundFolders } from '../../../media/sound-folders.ts';
import { restoreBackup } from '../../../src/backup/restore-backup.ts';
import { placeRestoredSounds } from '../../../src/backup/restore-sounds.ts';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { connect } from '../../../src/db/client.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { aSteamId, insertReadySound } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { createTestFolder } from '../../support/service/program.ts';

const FILE = `${aSteamId(1)}.mp3`;
const root = createTestFolder();
const [from, to] = [await createTestDatabase(), await createTestDatabase()];
const proxy = await startDatabaseProxy(to.url);
const openFolders = (name: string) =>
  openSoundFolders({ dataDir: join(root.path, name), storageDir: join(root.path, `${name}-storage`) });
const [source, target] = [await openFolders('from'), await openFolders('to')];
const file = join(root.path, 'backup.tar.gz');
afterAll(async () => {
  await proxy.stop();
  await root.remove();
});

test('a restore whose connection breaks at its commit keeps the sounds, since the rows may be there', async () => {
  await writeFile(join(source.published, FILE), 'a sound');
  const sha256 = createHash('sha256').update('a sound').digest('hex');
  await insertReadySound(from.db, aSteamId(1), 'track.wav', { sha256 });
  await writeBackup(file, {
    databaseUrl: from.url,
    folders: source,
    uploadName: UPLOAD_NAME,
    productVersion: '0.1.0',
  });
  await to.close({ timeoutSeconds: 1 });
  const restore = restoreBackup(
    file,
    { databaseUrl: proxy.url, folders: target, uploadName: UPLOAD_NAME },
    {
      log: createLogger('silent'),
      onStep: (step) => step === 'restoring' && proxy.failAt('commit\0', 'cut-before-response'),
    },
  );
  await expect(restore).rejects.toThrow('CONNECTION');

  const connection = connect(to.url, { max: 1 });
  expect((await connection`select from round_sounds`).length).toBe(1);
  // As the next start of the service does.
  await placeRestoredSounds(connection, target);
  expect(await readdir(target.published)).toEqual([FILE]);
  await connection.end();
});
