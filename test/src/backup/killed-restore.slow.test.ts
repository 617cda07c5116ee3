import { afterAll, expect, onTestFinished, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UPLOAD_NAME } from '../../../media/rendering/decode.ts';
import { openSoundFolders } from '../../../media/sound-folders.ts';
import { writeBackup } from '../../../src/backup/write-backup.ts';
import { connect } from '../../../src/db/client.ts';
import { aSteamId, insertReadySound } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { createTestFolder, startProgram } from '../../support/service/program.ts';
import { waitFor } from '../../support/wait.ts';

/** So many that moving them takes long enough for the process to be killed meanwhile. */
const COUNT = 5000;
const restored = Array.from({ length: COUNT }, (_, index) => aSteamId(1 + index));
const earlier = Array.from({ length: COUNT }, (_, index) => aSteamId(100_000 + index));
const SHA256 = createHash('sha256').update('restored').digest('hex');
const UPLOAD = '0190c2a5-7a51-7c52-a6a1-2f6a0d2f9c11';
const root = createTestFolder();
const [from, to] = [await createTestDatabase(), await createTestDatabase()];
afterAll(root.remove);

const openFolders = (name: string) =>
  openSoundFolders({ dataDir: join(root.path, name), storageDir: join(root.path, `${name}-storage`) });
const backup = join(root.path, 'backup.tar.gz');

test('a backup of many sounds', async () => {
  const folders = await openFolders('from');
  for (const id of restored) {
    await writeFile(join(folders.published, `${id}.mp3`), 'restored');
    await insertReadySound(from.db, id, 'track.wav', { sha256: SHA256 });
  }
  await Bun.write(join(folders.inbox, UPLOAD, UPLOAD_NAME), 'an upload');
  await insertReadySound(from.db, aSteamId(99_999), 'waits.wav', {
    status: 'queued',
    uploadKey: UPLOAD,
    sha256: null,
    readyAt: null,
  });
  const options = { databaseUrl: from.url, folders, uploadName: UPLOAD_NAME, productVersion: '0.1.0' };
  expect((await writeBackup(backup, options)).missing).toEqual([]);
  await to.close({ timeoutSeconds: 1 });
});

async function prepareTarget() {
  const name = Bun.randomUUIDv7();
  const folders = await openFolders(name);
  for (const id of earlier) await writeFile(join(folders.published, `${id}.mp3`), 'earlier');
  const env = {
    DATABASE_URL: to.url,
    DATA_DIR: join(root.path, name),
    STORAGE_DIR: join(root.path, `${name}-storage`),
    HOST: '127.0.0.1',
    PORT: '0',
    ROLES: 'api',
  };
  return { env, folders };
}

test.each([
  ['puts the sounds of before aside', (folders: { orphans: string }) => existsSync(folders.orphans)],
  [
    'places the restored sounds',
    (folders: { published: string }) => {
      const names = new Set(readdirSync(folders.published));
      return !names.has(`${earlier[0]}.mp3`) && restored.some((id) => names.has(`${id}.mp3`));
    },
  ],
])(
  'a restore that is killed while it %s is finished by the next start of the service',
  async (_, isThere) => {
    const { env, folders } = await prepareTarget();
    const killed = startProgram('src/cli.ts', env, ['restore', backup, '--replace', '--yes']);
    await waitFor(() => isThere(folders), { everyMs: 1 });
    killed.kill('SIGKILL');
    await killed.exited;
    expect(killed.stdout()).toBe('');

    const service = startProgram('src/main.ts', env);
    onTestFinished(() => service.kill('SIGKILL'));
    const [, port] = await service.waitFor(/"port":(\d+)/);
    const sound = await fetch(`http://127.0.0.1:${port}/storage/roundsound/${restored[COUNT - 1]}.mp3`);
    expect([sound.status, await sound.text()]).toEqual([200, 'restored']);
    service.kill('SIGINT');
    expect(await service.exited).toBe(0);

    const published = await readdir(folders.published);
    expect(published.sort()).toEqual(restored.map((id) => `${id}.mp3`).sort());
    expect(await readdir(folders.inbox)).toEqual([UPLOAD]);
    expect((await readdir(folders.orphans)).length).toBe(COUNT);
    const connection = connect(to.url, { max: 1 });
    expect([...(await connection`select key from settings where key like 'restore%'`)]).toEqual([]);
    await connection.end();
    await rm(env.STORAGE_DIR, { recursive: true });
  },
);

test('a second restore that is killed before it changes anything loses no sounds of a first that was killed', async () => {
  const { env, folders } = await prepareTarget();
  const unpacked = () => readdirSync(folders.published).filter((name) => name.startsWith('.restore-'));
  const restore = () => startProgram('src/cli.ts', env, ['restore', backup, '--replace', '--yes']);
  const first = restore();
  await waitFor(() => existsSync(folders.orphans), { everyMs: 1 });
  first.kill('SIGKILL');
  await first.exited;
  const [ofFirst] = unpacked();
  const second = restore();
  await waitFor(() => unpacked().some((name) => name !== ofFirst), { everyMs: 1 });
  second.kill('SIGKILL');
  await second.exited;
  expect([first.stdout(), second.stdout()]).toEqual(['', '']);

  const service = startProgram('src/main.ts', env);
  onTestFinished(() => service.kill('SIGKILL'));
  await service.waitFor(/"port":\d+/);
  service.kill('SIGINT');
  expect(await service.exited).toBe(0);
  const published = (await readdir(folders.published)).filter((name) => name.endsWith('.mp3'));
  expect(published.sort()).toEqual(restored.map((id) => `${id}.mp3`).sort());
  expect(await readdir(folders.inbox)).toContain(UPLOAD);
});
