import { systemMessage } from '../src/backup/archive.ts';
import { type Db, inTransaction } from '../src/db/client.ts';
import { Unavailable } from '../src/domain/errors.ts';
import { RENDITIONS, type Rendition } from '../src/domain/round-sound.ts';
import type { SteamId64 } from '../src/domain/steam-id.ts';
import {
  findRoundSounds,
  listReadySounds,
  listRoundSounds,
  lockPlayer,
  type ReadyRoundSound,
  saveSoundLoss,
} from '../src/queries/round-sounds/round-sounds.ts';
import type { Log } from './ffmpeg/ffmpeg.ts';
import type { SoundStore } from './sound-store.ts';
import { isRendered } from './uploads.ts';

/** A folder without a row may be an upload whose row is about to be inserted. */
const UPLOAD_GRACE_MS = 15 * 60_000;
const KEEP_ORPHANS_MS = 30 * 24 * 60 * 60_000;

/**
 * Makes disk and rows consistent: uploads without a row and unfinished copies are removed, published files without a row
 * are kept as orphans for 30 days, and published rows that lack a file are marked as lost.
 * @param graceMs the minimum age of an upload without a row; 15 minutes by default.
 */
export async function reconcileSounds(
  db: Db,
  store: SoundStore,
  log: Log,
  { graceMs = UPLOAD_GRACE_MS, nowMs = Date.now() }: { graceMs?: number; nowMs?: number } = {},
): Promise<void> {
  // Files are listed before rows: an upload that arrives in between is either too young or has a row.
  const uploads = await store.uploads.list();
  const [stagedIds, published] = [await store.listStaged(), await store.list()];
  const sounds = new Map((await listRoundSounds(db)).map((sound) => [sound.uploadKey, sound]));
  const unfinishedSounds = [...sounds.values()].filter(
    ({ status }) => status !== 'ready' && status !== 'failed',
  );
  for (const { key, changedAtMs } of uploads) {
    const sound = sounds.get(key);
    const isOver = sound ? !unfinishedSounds.includes(sound) : nowMs - changedAtMs >= graceMs;
    if (isOver) await store.uploads.remove(key);
  }
  for (const soundId of stagedIds) {
    const isUnderWay = unfinishedSounds.some(({ id }) => id === soundId);
    if (!isUnderWay) await store.removeStaged(soundId);
  }
  await markLostSounds(db, store, log);
  for (const file of published) await setAsideOrphan(db, store, { log, ...file });
  await store.removeOrphans((_, keptSinceMs) => nowMs - keptSinceMs > KEEP_ORPHANS_MS);
}

async function setAsideOrphan(
  db: Db,
  store: SoundStore,
  { log, ...published }: { log: Log; steamId64: SteamId64; rendition: Rendition },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    await lockPlayer(tx, published.steamId64);
    const { ready, latest } = await findRoundSounds(tx, published.steamId64);
    if (ready) return;
    // A worker died between moving the file and updating the row: the next worker completes the update.
    if (latest && isRendered(latest)) return;
    // The file has been removed since the folder was read.
    if (!(await store.has(published))) return;
    const file = await store.setAside(published);
    log.warn({ file }, 'a published sound without a row was set aside');
  });
}

async function markLostSounds(db: Db, store: SoundStore, log: Log): Promise<void> {
  const lostSounds: ReadyRoundSound[] = [];
  for (const sound of await listReadySounds(db)) {
    const files = RENDITIONS.map((rendition) => store.has({ steamId64: sound.steamId64, rendition }));
    if ((await Promise.all(files)).includes(false)) lostSounds.push(sound);
  }
  const isMarked = await store.isMarked();
  if (lostSounds.length > 0 && !isMarked) {
    const { length: count } = lostSounds;
    log.error({ folder: store.folder, count }, 'published sounds are missing: is the folder mounted?');
    return;
  }
  if (!isMarked) await store.mark();
  for (const sound of lostSounds) await markIfLost(db, store, { log, sound });
}

/** A published sound whose file is missing or altered, and why. */
type BrokenSound = { sound: ReadyRoundSound; reason: string };

/**
 * Compares the files of published sounds with the hashes in their rows. A sound whose file is missing or was altered is
 * marked as lost, and what is left of it is set aside.
 * @throws {Unavailable} when the folder seems not to be mounted.
 */
export async function verifySounds(
  db: Db,
  store: SoundStore,
  { log, sounds }: { log: Log; sounds: readonly ReadyRoundSound[] },
): Promise<BrokenSound[]> {
  const brokenSounds: BrokenSound[] = [];
  for (const sound of sounds) {
    const fields = { steamId64: sound.steamId64, sound: sound.id };
    try {
      if (await isIntact(store, sound)) continue;
      if (!(await store.isMarked()))
        throw new Unavailable(`Published sounds are missing from ${store.folder}: is it mounted?`);
      if (await markIfLost(db, store, { log, sound })) brokenSounds.push({ sound, reason: 'lost' });
    } catch (error) {
      const reason = systemMessage(error);
      if (reason === undefined) throw error;
      log.warn({ err: error, ...fields }, 'a file of a published sound cannot be read');
      brokenSounds.push({ sound, reason: `cannot be read: ${reason}` });
    }
  }
  return brokenSounds;
}

type Hashes = Pick<ReadyRoundSound, 'steamId64' | 'sha256' | 'voiceSha256'>;

async function isIntact(store: SoundStore, { steamId64, sha256, voiceSha256 }: Hashes): Promise<boolean> {
  const hashes = { stereo: sha256, voice: voiceSha256 };
  for (const rendition of RENDITIONS) {
    const hash = await store.hash({ steamId64, rendition });
    if (hash === undefined || hash !== (hashes[rendition] ?? hash)) return false;
  }
  return true;
}

/** @returns false when it was replaced or removed meanwhile. */
async function markIfLost(
  db: Db,
  store: SoundStore,
  { log, sound }: { log: Log; sound: ReadyRoundSound },
): Promise<boolean> {
  const { id, steamId64 } = sound;
  const isLost = await inTransaction(db, async (tx) => {
    await lockPlayer(tx, steamId64);
    const { ready } = await findRoundSounds(tx, steamId64);
    if (ready?.id !== id || (await isIntact(store, ready))) return false;
    await saveSoundLoss(tx, id);
    return true;
  });
  if (!isLost) return false;
  log.warn({ steamId64, sound: id }, 'a file of a published sound is lost or was altered');
  for (const rendition of RENDITIONS) await setAsideOrphan(db, store, { log, steamId64, rendition });
  return true;
}
