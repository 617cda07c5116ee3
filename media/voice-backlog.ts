import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  lockVoicelessSound,
  releaseVoicelessSound,
  saveVoice,
} from '../src/queries/round-sounds/round-sound-voices.ts';
import { lockPlayer, type RoundSound } from '../src/queries/round-sounds/round-sounds.ts';
import { hashFile } from '../src/runtime/folder.ts';
import { type RoundSoundWorkerDeps, renderPauseMs, type WorkContext } from './process-upload.ts';
import { copyAsPartial, moveIntoPlace } from './publication.ts';
import { SOUND_NAME, VOICE_NAME } from './rendering/formats.ts';
import { renderVoice } from './rendering/voice.ts';
import { publishedPath } from './sound-folders.ts';

/**
 * Renders the missing voice rendition of a published sound from the published file. A failure is tried again later, with
 * growing pauses, and not reported to the player. Throws only when the database is unreachable.
 */
export async function renderMissingVoice(
  deps: RoundSoundWorkerDeps,
  context: WorkContext,
  sound: RoundSound,
): Promise<void> {
  const { db, folders, log } = deps;
  const about = { steamId64: sound.steamId64, sound: sound.id };
  // In the inbox: if the process is killed, `reconcileSounds` removes the folder as an upload without a row.
  const scratch = join(folders.inbox, `voice-${sound.id}-${Bun.randomUUIDv7()}`);
  try {
    await mkdir(scratch);
    if (await renderAndPublish(deps, context, { sound, scratch })) {
      log.info(about, 'a missing voice file was rendered');
    }
  } catch (error) {
    const delayMs = context.isStopping() ? 0 : renderPauseMs(sound.voiceAttempts, context.retryMs);
    await releaseVoicelessSound(db, sound, { delayMs });
    if (!context.isStopping()) {
      log.warn({ ...about, err: error, delayMs }, 'a voice file cannot be rendered now: retrying later');
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** @returns false when the sound was replaced or removed meanwhile. */
async function renderAndPublish(
  { db, ffmpeg, folders, moveFile }: RoundSoundWorkerDeps,
  { targetLufs }: WorkContext,
  { sound, scratch }: { sound: RoundSound; scratch: string },
): Promise<boolean> {
  const copy = join(scratch, SOUND_NAME);
  await copyFile(publishedPath(folders, sound.steamId64), copy);
  if ((await hashFile(copy)) !== sound.sha256) throw new Error('the published file does not match its row');
  const { durationMs, loudnessAfterLufs } = sound;
  await renderVoice(ffmpeg, scratch, {
    durationMs: durationMs ?? 0,
    soundLufs: loudnessAfterLufs ?? targetLufs,
    targetLufs,
  });
  const from = join(scratch, VOICE_NAME);
  return db.transaction(async (tx) => {
    await lockPlayer(tx, sound.steamId64);
    if (!(await lockVoicelessSound(tx, sound))) return false;
    const file = await copyAsPartial(folders, { soundId: sound.id, rendition: 'voice', from });
    await moveIntoPlace(folders, sound, { renditions: ['voice'], moveFile });
    await saveVoice(tx, sound, file);
    return true;
  });
}
