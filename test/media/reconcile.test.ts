import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { reconcileSounds, verifySounds } from '../../media/reconcile.ts';
import { roundSounds } from '../../src/db/schema/round-sounds.ts';
import { RENDITIONS, UPLOAD_NAME } from '../../src/domain/round-sound.ts';
import {
  findRoundSounds,
  listReadySounds,
  listRoundSounds,
} from '../../src/queries/round-sounds/round-sounds.ts';
import { SILENT_LOG as log } from '../support/audio/ffmpeg-engines.ts';
import { PLAYER, publishedPath, stagedPath } from '../support/audio/sound-folders.ts';
import { createSoundQueue, OTHER_TONE, SILENCE, TONE } from '../support/audio/sound-queue.ts';
import { aSteamId } from '../support/database/builders.ts';
import { waitForProcess } from '../support/wait.ts';

setDefaultTimeout(60_000);

const queue = await createSoundQueue();
const { db, settle, startWorker } = queue;

describe('reconciliation', () => {
  test('sets aside published files without a row, and removes unfinished copies', async () => {
    await Bun.write(publishedPath(queue.folders, aSteamId(9)), 'x');
    await Bun.write(stagedPath(queue.folders, 12345), 'x');
    await Bun.write(join(queue.folders.published, 'note.txt'), 'an operator left this');
    await reconcileSounds(db, queue.sounds, log);
    expect((await readdir(queue.folders.published)).sort()).toEqual(['.published-sounds', 'note.txt']);
    expect(await readdir(queue.folders.orphans)).toHaveLength(1);
    await reconcileSounds(db, queue.sounds, log, { nowMs: Date.now() + 31 * 24 * 3_600_000 });
    expect(await readdir(queue.folders.orphans)).toEqual([]);
  });

  test('keeps an upload without a row for a while', async () => {
    const uploadKey = Bun.randomUUIDv7();
    await Bun.write(join(queue.folders.inbox, uploadKey, UPLOAD_NAME), TONE);
    await reconcileSounds(db, queue.sounds, log);
    expect(await readdir(queue.folders.inbox)).toEqual([uploadKey]);
  });

  test('keeps an upload whose row is inserted meanwhile', async () => {
    const uploadKey = Bun.randomUUIDv7();
    await Bun.write(join(queue.folders.inbox, uploadKey, UPLOAD_NAME), TONE);
    const { uploads } = queue.sounds;
    const list = async () => {
      const found = await uploads.list();
      await db.insert(roundSounds).values({ steamId64: PLAYER, title: 'tone.wav', uploadKey });
      return found;
    };
    const store = { ...queue.sounds, uploads: { ...uploads, list } };
    await reconcileSounds(db, store, log, { graceMs: 0 });
    expect(await listRoundSounds(db)).toHaveLength(1);
    expect(await readdir(queue.folders.inbox)).toEqual([uploadKey]);
  });

  test('skips a sound that is removed meanwhile', async () => {
    const path = publishedPath(queue.folders, aSteamId(9));
    await Bun.write(path, 'x');
    const list = async () => {
      const found = await queue.sounds.list();
      await rm(path);
      return found;
    };
    await expect(reconcileSounds(db, { ...queue.sounds, list }, log)).resolves.toBeUndefined();
  });

  test.each(RENDITIONS)(
    'marks a published sound whose %s file is gone, and sets the other aside',
    async (gone) => {
      await settle(TONE);
      await rm(publishedPath(queue.folders, PLAYER, gone));
      await reconcileSounds(db, queue.sounds, log);
      expect(await listReadySounds(db)).toEqual([]);
      expect((await findRoundSounds(db, PLAYER)).latest).toMatchObject({ status: 'failed', failure: 'lost' });
      expect(await readdir(queue.folders.published)).toEqual(['.published-sounds']);
      expect(await readdir(queue.folders.orphans)).toHaveLength(1);
    },
  );

  test('marks nothing as lost that the disk cannot read now', async () => {
    await settle(TONE);
    const path = publishedPath(queue.folders, PLAYER);
    await rm(path);
    // A link to itself fails as a broken disk does, other than a file that is missing.
    await symlink(path, path);
    await expect(reconcileSounds(db, queue.sounds, log)).rejects.toThrow('ELOOP');
    expect((await findRoundSounds(db, PLAYER)).ready).toMatchObject({ status: 'ready' });
  });

  test('marks nothing as lost when the whole folder is missing, as when it is not mounted', async () => {
    await settle(TONE);
    await rm(queue.folders.published, { recursive: true });
    await mkdir(queue.folders.published);
    await reconcileSounds(db, queue.sounds, log);
    expect(await listReadySounds(db)).toHaveLength(1);
  });

  test('verification marks a sound with an altered file as lost, and neither of its files is served', async () => {
    const { ready } = await settle(TONE);
    await reconcileSounds(db, queue.sounds, log);
    const path = publishedPath(queue.folders, PLAYER, 'voice');
    const bytes = await Bun.file(path).bytes();
    const verify = async () => verifySounds(db, queue.sounds, { log, sounds: await listReadySounds(db) });
    expect(await verify()).toEqual([]);

    bytes[100] = ~(bytes[100] ?? 0);
    await Bun.write(path, bytes);
    await reconcileSounds(db, queue.sounds, log);
    expect(await verify()).toMatchObject([{ sound: { id: ready?.id }, reason: 'lost' }]);
    expect((await findRoundSounds(db, PLAYER)).latest).toMatchObject({ status: 'failed', failure: 'lost' });
    expect(await readdir(queue.folders.published)).toEqual(['.published-sounds']);
    expect(await readdir(queue.folders.orphans)).toHaveLength(2);
  });

  test('verification does not mark a sound that is replaced while it runs', async () => {
    await settle(TONE);
    await reconcileSounds(db, queue.sounds, log);
    const sounds = await listReadySounds(db);
    const { ready } = await settle(OTHER_TONE);
    expect(await verifySounds(db, queue.sounds, { log, sounds })).toEqual([]);
    expect((await listReadySounds(db)).map(({ id }) => id)).toEqual([ready?.id ?? 0]);
  });

  test('verification reports a file that cannot be read, and marks nothing', async () => {
    await settle(TONE);
    await reconcileSounds(db, queue.sounds, log);
    const path = publishedPath(queue.folders, PLAYER);
    await rm(path);
    await mkdir(path);
    expect(await verifySounds(db, queue.sounds, { log, sounds: await listReadySounds(db) })).toMatchObject([
      { reason: 'cannot be read: illegal operation on a directory' },
    ]);
    expect(await listReadySounds(db)).toHaveLength(1);
  });

  test('verification refuses a folder that seems not to be mounted', async () => {
    await settle(TONE);
    await rm(queue.folders.published, { recursive: true });
    await mkdir(queue.folders.published);
    const sounds = await listReadySounds(db);
    await expect(verifySounds(db, queue.sounds, { log, sounds })).rejects.toThrow(
      `Published sounds are missing from ${queue.folders.published}: is it mounted?`,
    );
    expect(await listReadySounds(db)).toHaveLength(1);
  });

  test('a worker verifies sounds by itself', async () => {
    await settle(TONE);
    await Bun.write(publishedPath(queue.folders, PLAYER), 'altered');
    startWorker();
    await waitForProcess(async () => (await listReadySounds(db)).length === 0);
  });

  test('removes the folder of an upload that is finished', async () => {
    const { latest } = await settle(SILENCE);
    await waitForProcess(async () => (await readdir(queue.folders.inbox)).length === 0);
    await mkdir(join(queue.folders.inbox, latest?.uploadKey ?? ''));
    await reconcileSounds(db, queue.sounds, log);
    expect(await readdir(queue.folders.inbox)).toEqual([]);
  });
});
