import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { reconcileSounds } from '../../media/reconcile.ts';
import { roundSounds } from '../../src/db/schema/round-sounds.ts';
import { RENDITIONS, UPLOAD_NAME } from '../../src/domain/round-sound.ts';
import {
  findRoundSounds,
  listReadySounds,
  listRoundSounds,
} from '../../src/queries/round-sounds/round-sounds.ts';
import { SILENT_LOG as log } from '../support/audio/ffmpeg-engines.ts';
import { PLAYER, publishedPath, stagedPath } from '../support/audio/sound-folders.ts';
import { createSoundQueue, SILENCE, TONE } from '../support/audio/sound-queue.ts';
import { aSteamId } from '../support/database/builders.ts';
import { waitForProcess } from '../support/wait.ts';

setDefaultTimeout(60_000);

const queue = await createSoundQueue();
const { db, settle } = queue;

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

  test('removes the folder of an upload that is finished', async () => {
    const { latest } = await settle(SILENCE);
    await waitForProcess(async () => (await readdir(queue.folders.inbox)).length === 0);
    await mkdir(join(queue.folders.inbox, latest?.uploadKey ?? ''));
    await reconcileSounds(db, queue.sounds, log);
    expect(await readdir(queue.folders.inbox)).toEqual([]);
  });
});
