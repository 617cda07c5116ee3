import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Db } from '../src/db/client.ts';
import { RENDITIONS, type Rendition, type SoundFolders } from '../src/domain/round-sound.ts';
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
import {
  isFolderMarked,
  isPublished,
  listSoundFiles,
  markFolder,
  removeOrphans,
  removePartial,
  setAside,
  statIfFound,
} from './sound-files.ts';

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
  folders: SoundFolders,
  log: Log,
  { graceMs = UPLOAD_GRACE_MS, nowMs = Date.now() }: { graceMs?: number; nowMs?: number } = {},
): Promise<void> {
  // Folders are read before rows: an upload that arrives in between is either too young or has a row.
  const uploadKeys = await readdir(folders.inbox);
  const { partials, published } = await listSoundFiles(folders);
  const sounds = new Map((await listRoundSounds(db)).map((sound) => [sound.uploadKey, sound]));
  const unfinishedSounds = [...sounds.values()].filter(
    ({ status }) => status !== 'ready' && status !== 'failed',
  );
  for (const key of uploadKeys) {
    const path = join(folders.inbox, key);
    const sound = sounds.get(key);
    const isOver = sound
      ? !unfinishedSounds.includes(sound)
      : nowMs - ((await statIfFound(path))?.mtimeMs ?? 0) >= graceMs;
    if (isOver) await rm(path, { recursive: true, force: true });
  }
  for (const partial of partials) {
    const isUnderWay = unfinishedSounds.some(({ id }) => id === partial.soundId);
    if (!isUnderWay) await removePartial(folders, partial);
  }
  await markLostSounds(db, folders, log);
  for (const file of published) await setAsideOrphan(db, folders, { log, ...file });
  await removeOrphans(folders, (_, orphanedAtMs) => nowMs - orphanedAtMs > KEEP_ORPHANS_MS);
}

async function setAsideOrphan(
  db: Db,
  folders: SoundFolders,
  { log, steamId64, rendition }: { log: Log; steamId64: SteamId64; rendition: Rendition },
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockPlayer(tx, steamId64);
    const { ready, latest } = await findRoundSounds(tx, steamId64);
    if (ready) return;
    // A worker died between moving the file and updating the row: the next worker completes the update.
    if (latest && latest.sha256 !== null && latest.status !== 'failed') return;
    // The file has been removed since the folder was read.
    if (!(await isPublished(folders, steamId64, rendition))) return;
    const file = await setAside(folders, steamId64, rendition);
    log.warn({ file }, 'a published sound without a row was set aside');
  });
}

async function markLostSounds(db: Db, folders: SoundFolders, log: Log): Promise<void> {
  const lostSounds: ReadyRoundSound[] = [];
  for (const sound of await listReadySounds(db)) {
    const files = RENDITIONS.map((rendition) => isPublished(folders, sound.steamId64, rendition));
    if ((await Promise.all(files)).includes(false)) lostSounds.push(sound);
  }
  const isMarked = await isFolderMarked(folders);
  if (lostSounds.length > 0 && !isMarked) {
    const { length: count } = lostSounds;
    log.error({ folder: folders.published, count }, 'published sounds are missing: is the folder mounted?');
    return;
  }
  if (!isMarked) await markFolder(folders);
  for (const sound of lostSounds) {
    await saveSoundLoss(db, sound.id);
    log.warn({ steamId64: sound.steamId64, sound: sound.id }, 'a file of a published sound is lost');
  }
}
