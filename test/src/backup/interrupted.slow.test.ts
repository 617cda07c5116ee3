import { afterAll, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openSoundFolders } from '../../../media/sound-files.ts';
import { restoreBackup } from '../../../src/backup/restore-backup.ts';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { aSteamId, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { insertSoundFile, REPLACING } from '../../support/service/backups.ts';
import { createTestFolder, startProgram } from '../../support/service/program.ts';

const FILE = `${aSteamId(1)}.mp3`;
const root = createTestFolder();
const [from, to] = [await createTestDatabase(), await createTestDatabase()];
const dirs = (name: string) => ({
  dataDir: join(root.path, name),
  storageDir: join(root.path, `${name}-storage`),
});
const source = await openSoundFolders(dirs('from'));
const file = join(root.path, 'backup.tar.gz');
afterAll(root.remove);

test('a backup of a sound', async () => {
  await insertSoundFile(from.db, source, 1, 'a sound');
  await writeBackup(file, { databaseUrl: from.url, folders: source });
  // As before a replacement.
  await insertUser(to.db, 2);
  await to.close({ timeoutSeconds: 1 });
});

test.each(['cut', 'cut-before-response'] as const)(
  'nothing starts after a restore was interrupted at its commit (%s), until it is repeated',
  async (how) => {
    const { dataDir, storageDir } = dirs(how);
    const target = await openSoundFolders(dirs(how));
    await writeFile(join(target.published, FILE), 'an earlier sound');
    const proxy = await startDatabaseProxy(to.url);
    const restoring = restoreBackup(
      file,
      { databaseUrl: proxy.url, folders: target },
      {
        ...REPLACING,
        onStep: (step) => step === 'restoring' && proxy.failAt('commit\0', how),
      },
    );
    await expect(restoring).rejects.toThrow('CONNECTION');
    await proxy.stop();

    const env = {
      DATABASE_URL: to.url,
      DATA_DIR: dataDir,
      STORAGE_DIR: storageDir,
      HOST: '127.0.0.1',
      PORT: '0',
    };
    const mark = join(storageDir, '.restoring');
    const refusal = `A restore is running, or was interrupted (${mark}): run restore again\n`;
    const runs: [string, string[]][] = [
      ['src/main.ts', []],
      ['src/cli.ts', ['servers', 'list']],
      ['src/cli.ts', ['backup', join(root.path, 'none.tar.gz')]],
    ];
    for (const [program, args] of runs) {
      const refused = startProgram(program, env, args);
      expect([await refused.exited, refused.stderr()]).toEqual([1, refusal]);
    }

    // Of a restore that was killed earlier.
    await Bun.write(join(target.published, '.restore', FILE), 'a part of a sound');
    const again = startProgram('src/cli.ts', env, ['restore', file]);
    expect([await again.exited, again.stdout()]).toEqual([0, expect.stringMatching(/^Restored .*\n$/)]);
    expect(await readdir(target.published)).toEqual([FILE]);
    expect(await readFile(join(target.published, FILE), 'utf8')).toBe('a sound');
    const [aside = '', ...others] = await readdir(target.orphans);
    expect(others).toEqual([]);
    expect(await readFile(join(target.orphans, aside), 'utf8')).toBe('an earlier sound');
    expect(existsSync(mark)).toBe(false);

    const listed = startProgram('src/cli.ts', env, ['sounds', 'list', '--json']);
    expect([await listed.exited, JSON.parse(listed.stdout()).length]).toEqual([0, 1]);
  },
);
