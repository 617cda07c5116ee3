import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ffmpeg } from '../../../media/ffmpeg/ffmpeg.ts';
import { UPLOAD_NAME } from '../../../media/rendering/decode.ts';
import { SOUND_NAME, VOICE_NAME } from '../../../media/rendering/formats.ts';
import { renderSound } from '../../../media/rendering/render.ts';
import { SoundRefused } from '../../../media/rendering/run-ffmpeg.ts';
import { renderVoice } from '../../../media/rendering/voice.ts';
import { anAudio, silence, sine, toWav } from '../audio/audio.ts';
import { hashOfFile } from '../audio/sound-queue.ts';
import type { Interrupter } from './interruptible.ts';
import { SOUNDS, type SoundName } from './model.ts';

/** The bytes that are uploaded. */
export const UPLOADS: Readonly<Record<SoundName, Uint8Array>> = {
  tone: toWav(anAudio({ seconds: 0.4, shape: sine(440, 0.3) }), 's16'),
  chord: toWav(anAudio({ seconds: 0.6, shape: sine(880, 0.1) }), 's16'),
  silence: toWav(silence(0.4), 's16'),
  text: new TextEncoder().encode('not a sound'),
};

/** Which sound the hash of a published file is of, and which of a voice file. */
export type Rendered = { stereo: Map<string, SoundName>; voice: Map<string, SoundName> };

/** Renders each upload that can be, and lets ffmpeg see the others. */
export async function renderEach(ffmpeg: Ffmpeg, directory: string): Promise<Rendered> {
  const rendered: Rendered = { stereo: new Map(), voice: new Map() };
  for (const name of SOUNDS) {
    const folder = join(directory, name);
    await mkdir(folder);
    await Bun.write(join(folder, UPLOAD_NAME), UPLOADS[name]);
    const targetLufs = -18;
    const sound = await renderSound(ffmpeg, folder, { maxSeconds: 10, targetLufs }).catch(unlessRefused);
    if (!sound) continue;
    const { durationMs, loudnessAfterLufs: soundLufs } = sound;
    await renderVoice(ffmpeg, folder, { durationMs, soundLufs, targetLufs });
    rendered.stereo.set(await hashOfFile(join(folder, SOUND_NAME)), name);
    rendered.voice.set(await hashOfFile(join(folder, VOICE_NAME)), name);
  }
  return rendered;
}

/** The bytes of a file from a client that may stop in the middle. */
export async function* sendSlowly(bytes: Uint8Array, interrupter: Interrupter): AsyncGenerator<Uint8Array> {
  const half = Math.floor(bytes.length / 2);
  yield bytes.subarray(0, half);
  await interrupter.pass('chunk');
  yield bytes.subarray(half);
}

function unlessRefused(error: unknown): undefined {
  if (!(error instanceof SoundRefused)) throw error;
}
