import { beforeEach, describe, expect, test } from 'bun:test';
import { readdir, rm, statfs } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { renderSound } from '../../media/rendering/render.ts';
import { SoundRefused } from '../../media/rendering/run-ffmpeg.ts';
import { createRoundSoundWorker } from '../../media/round-sound-worker.ts';
import { removeSound } from '../../media/uploads.ts';
import { roundSounds } from '../../src/db/schema/round-sounds.ts';
import { Unavailable } from '../../src/domain/errors.ts';
import { UPLOAD_NAME } from '../../src/domain/round-sound.ts';
import { findRoundSounds, listRoundSounds } from '../../src/queries/round-sounds/round-sounds.ts';
import { findUserBySteamId } from '../../src/queries/users/users.ts';
import { erasePlayer } from '../../src/service/erase-player.ts';
import { anAudio, sine, toWav } from '../support/audio/audio.ts';
import { ENGINES, isOnThisMachine, openEngine, SILENT_LOG } from '../support/audio/ffmpeg-engines.ts';
import { openSounds, PLAYER, publishedPath, uploadSound } from '../support/audio/sound-folders.ts';
import { aSteamId, insertReadySound, insertUser } from '../support/database/builders.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { mountSmallDisk } from '../support/machine/small-disk.ts';
import { createTestFolder } from '../support/service/program.ts';
import { waitForProcess } from '../support/wait.ts';

/** A real disk that is full: a small file system in memory, which only root may mount. */
const DISK_BYTES = 1024 * 1024;
/** 350 kB as 16-bit mono, 1.4 MB decoded: the upload fits on the disk, but the decoded sound does not. */
const CLIP = toWav(anAudio({ seconds: 4, shape: sine(440, 0.3), channels: 1 }), 's16');
/** It takes 70 kB decoded, 6 kB encoded, and 1 MB while it is verified. */
const BEEP = toWav(anAudio({ seconds: 0.2, shape: sine(440, 0.3), channels: 1 }), 's16');

const { db } = await createTestDatabase();
const folder = createTestFolder();
const { path: disk, isMounted, resize } = await mountSmallDisk(join(folder, 'disk'), DISK_BYTES);

describe.skipIf(!isMounted)('on a full disk', () => {
  beforeEach(async () => {
    await db.delete(roundSounds);
    for (const name of await readdir(disk)) await rm(join(disk, name), { recursive: true });
  });

  test('an upload is refused as a temporary failure, and leaves nothing behind', async () => {
    const { sounds, folders } = await openSounds({ dataDir: disk, storageDir: join(folder, 'storage') });
    await Bun.write(join(disk, 'other'), new Uint8Array(DISK_BYTES - 100_000));
    await expect(uploadSound({ db, sounds }, CLIP)).rejects.toThrow('There is no room for uploads now');
    await waitForProcess(async () => (await readdir(folders.inbox)).length === 0);
    expect(await listRoundSounds(db)).toEqual([]);
  });

  for (const engine of ENGINES) {
    test.skipIf(!isOnThisMachine(engine))(
      `the ${engine} engine postpones a sound, and finishes it when there is room`,
      async () => {
        const { sounds, folders } = await openSounds({
          dataDir: disk,
          storageDir: join(folder, engine),
        });
        await uploadSound({ db, sounds }, CLIP);
        const ffmpeg = await openEngine(engine);
        const warned = Promise.withResolvers<void>();
        const log = { ...SILENT_LOG, warn: () => warned.resolve() };
        const worker = createRoundSoundWorker(
          { db, ffmpeg, sounds, log },
          { maxSeconds: 10, targetLufs: -18, idleMs: 20, retryMs: 200 },
        );
        worker.start();
        await warned.promise;
        await waitForProcess(async () => (await findRoundSounds(db, PLAYER)).latest?.status === 'queued');
        expect(await readdir(folders.published)).not.toContain(`${PLAYER}.mp3`);

        resize(20 * DISK_BYTES);
        await waitForProcess(async () => (await findRoundSounds(db, PLAYER)).ready);
        expect(await Bun.file(publishedPath(folders, PLAYER)).exists()).toBe(true);
        await worker.stop();
        expect(await readdir(folders.inbox)).toEqual([]);
        await rm(folders.inbox, { recursive: true });
        resize(DISK_BYTES);
      },
    );

    test.skipIf(!isOnThisMachine(engine))(
      `the ${engine} engine never blames the upload, whichever step the disk is full at`,
      async () => {
        const ffmpeg = await openEngine(engine);
        const job = join(disk, 'job');
        for (let room = 40; room <= 96; room += 8) {
          await rm(job, { recursive: true, force: true });
          await Bun.write(join(job, UPLOAD_NAME), BEEP);
          await rm(join(disk, 'other'), { force: true });
          const { bavail, bsize } = await statfs(disk);
          await Bun.write(join(disk, 'other'), new Uint8Array(bavail * bsize - room * 1024));
          const rendering = renderSound(ffmpeg, job, { maxSeconds: 10, targetLufs: -18 });
          const error = await rendering.catch((trouble: unknown) => trouble);
          expect(error).toBeInstanceOf(Error);
          expect(error).not.toBeInstanceOf(SoundRefused);
        }
        await ffmpeg.close();
      },
    );
  }
});

describe.skipIf(!isMounted)('on a disk that fails', async () => {
  const { path: storageDir, makeReadOnly } = await mountSmallDisk(join(folder, 'storage-disk'), DISK_BYTES);
  const { sounds, folders } = await openSounds({ dataDir: join(folder, 'data'), storageDir });

  test('a sound that cannot be read is unavailable, not an internal failure', async () => {
    const path = publishedPath(folders, aSteamId(8));
    await Bun.write(path, 'a sound');
    // Reading the start of a process's memory fails as a broken sector does.
    expect(Bun.spawnSync(['mount', '--bind', `/proc/${process.pid}/mem`, path]).success).toBe(true);
    try {
      await expect(sounds.open(basename(path))).rejects.toThrow(
        new Unavailable('This sound cannot be read now'),
      );
    } finally {
      Bun.spawnSync(['umount', path]);
    }
  });

  test('deleting a sound and an account on a read-only disk is unavailable, and changes nothing', async () => {
    const user = await insertUser(db, 9);
    await Bun.write(publishedPath(folders, user.steamId64), 'a sound');
    await insertReadySound(db, user.steamId64, 'track.wav');
    expect(makeReadOnly()).toBe(true);
    const person = { steamId64: user.steamId64, actor: 'operator' } as const;
    const reason = new Unavailable('Sounds cannot be removed now, because the disk fails');
    await expect(removeSound(db, sounds, person)).rejects.toThrow(reason);
    await expect(erasePlayer(db, sounds, { ...person, withPenalties: false })).rejects.toThrow(reason);
    expect(await findRoundSounds(db, user.steamId64)).toMatchObject({ ready: { title: 'track.wav' } });
    expect(await findUserBySteamId(db, user.steamId64)).toBeDefined();
  });
});
