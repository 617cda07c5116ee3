import { join } from 'node:path';
import type { Audio } from './audio.ts';
import { convert } from './ffmpeg-engines.ts';

const STEREO_44_100 = { sampleRate: 44_100, channels: 2 };

/** Decodes a published sound with a decoder that is not the pipeline's: mpg123 where there is one. */
export async function decodeMp3(
  folder: string,
  name: string,
  { sampleRate, channels } = STEREO_44_100,
): Promise<Audio> {
  const bytes = Bun.which('mpg123')
    ? await decodeWithMpg123(join(folder, name))
    : await convert(folder, [name, 'mp3'], ['decoded-by-test.f32', '-f', 'f32le', '-c:a', 'pcm_f32le']);
  const samples = new Float32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.byteLength / 4));
  return {
    sampleRate,
    channels: Array.from({ length: channels }, (_, channel) =>
      Float32Array.from(
        { length: samples.length / channels },
        (_, frame) => samples[frame * channels + channel] ?? 0,
      ),
    ),
  };
}

async function decodeWithMpg123(path: string): Promise<Uint8Array> {
  const child = Bun.spawn(['mpg123', '-q', '-e', 'f32', '-s', path], { stdout: 'pipe', stderr: 'ignore' });
  const bytes = await child.stdout.bytes();
  if ((await child.exited) !== 0) throw new Error(`mpg123 refuses ${path}`);
  return bytes;
}
