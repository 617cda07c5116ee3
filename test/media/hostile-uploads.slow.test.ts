import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createEmbeddedFfmpeg } from '../../media/ffmpeg/embedded.ts';
import { type Ffmpeg, RENDER_LIMITS } from '../../media/ffmpeg/ffmpeg.ts';
import { UPLOAD_NAME } from '../../media/rendering/decode.ts';
import { renderSound } from '../../media/rendering/render.ts';
import { SoundRefused } from '../../media/rendering/run-ffmpeg.ts';
import { anAudio, joinBytes, musicLike, noise, sine, toWav } from '../support/audio/audio.ts';
import {
  ENGINES,
  type EngineName,
  encode,
  HAS_NATIVE_FFMPEG,
  isOnThisMachine,
  makeFolder,
  openEngine,
} from '../support/audio/ffmpeg-engines.ts';
import {
  aFlacBomb,
  aHugePng,
  aLyingWav,
  aMatroskaOfBrokenPackets,
  aMovOfManyEdits,
  aReferencingMp4,
  playlistsNaming,
} from '../support/audio/hostile-audio.ts';
import { type MeasuredRender, measureRender } from '../support/audio/measured-render.ts';
import { withPicture } from './rendering/corpus.ts';

setDefaultTimeout(300_000);

/** In wall time: a call that hangs takes all of its limit, however slow the machine is. */
const MAX_MS = RENDER_LIMITS.wallMs / 2;
/** The most processor time that any of them may take: so many times what an ordinary clip takes in the same engine. */
const MAX_CPU_RATIO = 2;
const MAX_RUNS = 5;
const MAX_BYTES = 256_000_000;

type Outcome = 'published' | 'not-audio' | 'unreadable' | 'silent' | 'too-complex';

const folder = await makeFolder('hostile');
const encoder = createEmbeddedFfmpeg();
const tone = anAudio({ seconds: 1, shape: sine(440, 0.3) });
const mp3 = await encode(encoder, folder.path, {
  wav: toWav(anAudio({ seconds: 3, shape: musicLike(0.5) })),
  options: ['-c:a', 'libmp3lame', '-b:a', '128k', '-f', 'mp3'],
  extension: 'mp3',
});
/** Longer than what is kept of a clip, so that rendering one takes as long as it can. */
const ordinaryMp3 = await encode(encoder, folder.path, {
  wav: toWav(anAudio({ seconds: 12, shape: musicLike(0.5) })),
  options: ['-c:a', 'libmp3lame', '-b:a', '128k', '-f', 'mp3'],
  extension: 'mp3',
});
const manyTracks = await encode(encoder, folder.path, {
  wav: toWav(tone),
  options: [
    ...Array.from({ length: 200 }, () => ['-map', '0:a']).flat(),
    '-c:a',
    'pcm_s16le',
    '-f',
    'matroska',
  ],
  extension: 'mkv',
});
const videoOnly = await encode(encoder, folder.path, {
  wav: toWav(tone),
  options: ['-filter_complex', 'color=red:s=64x64:r=5:d=1[v]', '-map', '[v]', '-c:v', 'mpeg4', '-f', 'mp4'],
  extension: 'mp4',
});
await encoder.close();

/** Another player's file, which no upload may read, and a listener that no upload may call. */
const secret = join(folder.path, 'another-player.mp3');
await Bun.write(secret, mp3);
let calls = 0;
const listener = Bun.serve({
  port: 0,
  fetch: () => {
    calls++;
    return new Response(mp3);
  },
});
afterAll(async () => {
  await listener.stop(true);
  await folder.remove();
});

const NOT_A_NUMBER = anAudio({ seconds: 1, shape: () => Number.NaN });
const ENORMOUS = anAudio({ seconds: 1, shape: noise(1e30) });

type Hostile = { name: string; bytes: Uint8Array; outcomes: Outcome[] };

/** Small files that ask for much time or memory. */
const BOMBS: Hostile[] = [
  { name: 'a FLAC of 24 hours of silence', bytes: aFlacBomb(24), outcomes: ['silent'] },
  { name: 'a WAV of 1 Hz', bytes: aLyingWav({ sampleRate: 1 }), outcomes: ['published', 'unreadable'] },
  { name: 'a WAV of 1,000 channels', bytes: aLyingWav({ channels: 1000 }), outcomes: ['unreadable'] },
  {
    name: 'an mp3 with a cover of 20,000 × 20,000',
    bytes: withPicture(mp3, aHugePng(20_000)),
    outcomes: ['published'],
  },
  {
    name: 'a WAV of two samples',
    bytes: toWav(anAudio({ seconds: 2 / 44_100, shape: sine(9000, 0.5) })),
    outcomes: ['published'],
  },
  { name: 'a file of 200 tracks', bytes: manyTracks, outcomes: ['published', 'unreadable'] },
];

const HOSTILE: Hostile[] = [
  ...BOMBS,
  {
    name: 'a WAV of 4 GHz',
    bytes: aLyingWav({ sampleRate: 4_000_000_000 }),
    outcomes: ['unreadable', 'published'],
  },
  { name: 'a WAV of no channels', bytes: aLyingWav({ channels: 0 }), outcomes: ['unreadable'] },
  { name: 'a WAV of 0 bits', bytes: aLyingWav({ bits: 0 }), outcomes: ['unreadable', 'published'] },
  { name: 'a WAV that claims 4 GB', bytes: aLyingWav({ dataBytes: 0xffff_ffff }), outcomes: ['published'] },
  { name: 'a WAV without samples', bytes: aLyingWav({}, 0), outcomes: ['unreadable', 'silent'] },
  { name: 'a WAV cut inside its header', bytes: aLyingWav({}).subarray(0, 30), outcomes: ['unreadable'] },
  { name: 'a WAV of numbers that are none', bytes: toWav(NOT_A_NUMBER), outcomes: ['unreadable'] },
  { name: 'a WAV 600 dB over full scale', bytes: toWav(ENORMOUS), outcomes: ['unreadable'] },
  {
    name: 'an mp3 with 9 MB of cover',
    bytes: withPicture(mp3, new Uint8Array(9_000_000)),
    outcomes: ['published'],
  },
  {
    name: 'an mp3 with junk before and after',
    bytes: joinBytes(withPicture(new Uint8Array(3000), aHugePng(8)), mp3, new Uint8Array(5000)),
    outcomes: ['published'],
  },
  { name: 'a video without sound', bytes: videoOnly, outcomes: ['unreadable'] },
  { name: 'an mp3 cut in the middle', bytes: mp3.subarray(0, 20_001), outcomes: ['published'] },
  { name: 'an empty file', bytes: new Uint8Array(), outcomes: ['not-audio'] },
  { name: 'an HTML page', bytes: Buffer.from('<!doctype html><audio src=x>'), outcomes: ['not-audio'] },
  { name: 'an AVI', bytes: Buffer.from('RIFF\0\0\0\0AVI LIST'), outcomes: ['not-audio'] },
  ...[
    'RIFF....WAVEfmt ',
    'OggS\0\x02',
    'fLaC\0\0\0\x22',
    '\0\0\0\x18ftypM4A ',
    '\x1a\x45\xdf\xa3',
    'FORM....AIFFCOMM',
    'caff\0\x01\0\0desc',
    'ID3\x03\0\0\0\0\0\0',
    '\xff\xfb\x90\x64',
    '\xff\xf1\x50\x80',
  ].map((magic) => ({
    name: `junk behind ${JSON.stringify(magic.slice(0, 12))}`,
    bytes: joinBytes(Buffer.from(magic, 'latin1'), junk(60_000)),
    outcomes: ['unreadable', 'published', 'silent', 'too-complex'] satisfies Outcome[],
  })),
];

for (const engine of ENGINES) {
  describe.skipIf(!isOnThisMachine(engine))(`the ${engine} engine`, () => {
    let ffmpeg: Ffmpeg;
    beforeAll(async () => {
      ffmpeg = await openEngine(engine, folder.path);
    });
    afterAll(() => ffmpeg.close());

    test.each(HOSTILE)('ends soon with $name', async ({ bytes, outcomes }) => {
      const startedAt = performance.now();
      const { outcome, files } = await upload(ffmpeg, bytes);
      expect<string[]>(outcomes).toContain(outcome);
      expect(performance.now() - startedAt).toBeLessThan(MAX_MS);
      expect(files).toEqual(outcome === 'published' ? ['sound.mp3', 'upload.bin'] : ['upload.bin']);
    });

    test.each(BOMBS)('takes little processor time and memory for $name', async ({ bytes, outcomes }) => {
      const directory = await makeUploadFolder(bytes);
      const { outcome, cpuRatio, peakBytes } = await measureBesideOrdinary(engine, directory);
      expect<string[]>(outcomes).toContain(outcome);
      expect(cpuRatio).toBeLessThan(MAX_CPU_RATIO);
      expect(peakBytes).toBeLessThan(MAX_BYTES);
    });

    test('does not follow the data reference of an mp4: the sound is the same without the file', async () => {
      const target = join(folder.path, 'referenced.raw');
      await Bun.write(target, toWav(tone));
      const withTarget = await upload(ffmpeg, aReferencingMp4(target));
      await rm(target);
      const withoutTarget = await upload(ffmpeg, aReferencingMp4(target));
      expect(withTarget.outcome).toBe(withoutTarget.outcome);
      expect(withTarget.sound).toEqual(withoutTarget.sound);
    });

    const targets = [secret, `http://127.0.0.1:${listener.port}/x.mp3`];
    test.each(
      targets.flatMap((target) =>
        playlistsNaming(target).map(({ name, bytes }) => ({ target, name, bytes })),
      ),
    )('never opens $target for $name', async ({ bytes }) => {
      const { outcome } = await upload(ffmpeg, bytes);
      expect(['not-audio', 'unreadable', 'silent']).toContain(outcome);
      expect(calls).toBe(0);
    });
  });
}

test.skipIf(!HAS_NATIVE_FFMPEG)('keeps little of what a native ffmpeg complains about', async () => {
  const directory = await makeUploadFolder(aMatroskaOfBrokenPackets(400_000));
  const { outcome, peakBytes } = await measureRender('native', directory);
  expect(['unreadable', 'too-complex']).toContain(outcome);
  expect(peakBytes).toBeLessThan(MAX_BYTES);
});

test('ends an embedded ffmpeg that asks for memory again and again', async () => {
  const { peakBytes: ordinaryBytes } = await measureOrdinary('embedded');
  const directory = await makeUploadFolder(aMovOfManyEdits(500_000));
  const { outcome, peakBytes } = await measureRender('embedded', directory);
  expect(outcome).toBe('too-complex');
  expect(peakBytes).toBeLessThan(1.5 * ordinaryBytes);
});

async function upload(
  ffmpeg: Ffmpeg,
  bytes: Uint8Array,
): Promise<{ outcome: string; files: string[]; sound: string }> {
  const directory = await makeUploadFolder(bytes);
  const outcome = await renderSound(ffmpeg, directory, { maxSeconds: 10, targetLufs: -18 }).then(
    () => 'published',
    (error: unknown) => (error instanceof SoundRefused ? error.reason : String(error)),
  );
  const sound = await readFile(join(directory, 'sound.mp3'), 'base64').catch(() => '');
  return { outcome, files: (await readdir(directory)).sort(), sound };
}

/** By engine: what an ordinary clip took last. */
const ordinary = new Map<EngineName, MeasuredRender>();

/**
 * Compares the processor time of a render with that of an ordinary clip. Both are measured again, side by side, while it
 * is too much: other work on the machine adds processor time, so the lowest ratio of all runs counts.
 */
async function measureBesideOrdinary(
  engine: EngineName,
  directory: string,
): Promise<{ outcome: string; cpuRatio: number; peakBytes: number }> {
  let cpuRatio = Number.POSITIVE_INFINITY;
  let peakBytes = 0;
  for (let run = 1; ; run++) {
    const measured = await measureRender(engine, directory);
    const beside = (run === 1 && ordinary.get(engine)) || (await measureOrdinary(engine));
    cpuRatio = Math.min(cpuRatio, measured.cpuMs / beside.cpuMs);
    peakBytes = Math.max(peakBytes, measured.peakBytes);
    if (cpuRatio < MAX_CPU_RATIO || run === MAX_RUNS)
      return { outcome: measured.outcome, cpuRatio, peakBytes };
  }
}

async function measureOrdinary(engine: EngineName): Promise<MeasuredRender> {
  const measured = await measureRender(engine, await makeUploadFolder(ordinaryMp3));
  expect(measured.outcome).toBe('published');
  ordinary.set(engine, measured);
  return measured;
}

async function makeUploadFolder(bytes: Uint8Array): Promise<string> {
  const directory = join(folder.path, Bun.randomUUIDv7());
  await mkdir(directory);
  await Bun.write(join(directory, UPLOAD_NAME), bytes);
  return directory;
}

function junk(length: number): Uint8Array {
  const random = noise(128, 99);
  return Uint8Array.from({ length }, () => (random(0, 0) + 128) & 0xff);
}
