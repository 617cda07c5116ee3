import {
  type Audio,
  anAudio,
  drums,
  joinBytes,
  musicLike,
  noise,
  sequence,
  silence,
  sine,
  speechLike,
  toWav,
  uint32s,
} from '../../support/audio/audio.ts';
import { encode } from '../../support/audio/ffmpeg-engines.ts';

/** One upload and its expected result; lengths in seconds, of at most 10. */
type Clip = {
  name: string;
  bytes: Uint8Array;
  seconds: number;
  /** The limiter or the maximum gain keeps it below the target loudness. */
  isQuieter: boolean;
};

/** Codecs of each extension; none of them is the pipeline's own. */
const ENCODINGS = {
  flac: ['-c:a', 'flac', '-f', 'flac'],
  ogg: ['-c:a', 'libvorbis', '-f', 'ogg'],
  // The embedded build's libopus crashes while encoding; ffmpeg's own encoder does not.
  opus: ['-c:a', 'opus', '-strict', '-2', '-f', 'ogg'],
  webm: ['-c:a', 'opus', '-strict', '-2', '-f', 'webm'],
  m4a: ['-c:a', 'aac', '-f', 'ipod'],
  aac: ['-c:a', 'aac', '-f', 'adts'],
  mp3: ['-c:a', 'libmp3lame', '-b:a', '128k', '-f', 'mp3'],
  aiff: ['-c:a', 'pcm_s24be', '-f', 'aiff'],
  caf: ['-c:a', 'pcm_s16be', '-f', 'caf'],
  // As browsers record with a pause: time stamps go on while nothing is written.
  mka: ['-af', 'asetpts=PTS+gt(T\\,3)*20/TB', '-c:a', 'libvorbis', '-f', 'matroska'],
} as const;

export async function makeCorpus(): Promise<Clip[]> {
  const inFormat = (extension: keyof typeof ENCODINGS, audio: Audio): Promise<Uint8Array> =>
    encode(toWav(audio), extension, ENCODINGS[extension]);
  const inWav = (audio: Audio) => toWav(audio, 's16');
  const at48kHz = { sampleRate: 48_000 };
  const music = anAudio({ seconds: 6, shape: musicLike(0.7) });
  const musicMp3 = await inFormat('mp3', music);
  const clips: [name: string, seconds: number, bytes: Uint8Array, isQuieter?: true][] = [
    ['tone at -45 dBFS, wav 48 kHz', 5, toWav(aTone(5, 10 ** (-45 / 20), 48_000))],
    ['tone 18 dB over full scale, float wav', 3, toWav(aTone(3, 8))],
    ['music clipped to a square, 16-bit wav', 4, inWav(anAudio({ seconds: 4, shape: musicLike(9) }))],
    [
      'noise of 12 s, flac 96 kHz: cut',
      10,
      await inFormat('flac', anAudio({ seconds: 12, shape: noise(0.2), sampleRate: 96_000 })),
    ],
    [
      'noise of 0.3 s, mono wav 8 kHz',
      0.3,
      inWav(anAudio({ seconds: 0.3, shape: noise(0.9), sampleRate: 8000, channels: 1 })),
    ],
    [
      'speech with pauses, mono opus',
      5.9,
      await inFormat('opus', anAudio({ seconds: 5.9, shape: speechLike(0.4), ...at48kHz, channels: 1 })),
    ],
    ['music, mp3 with cover art', 6, withCover(musicMp3)],
    ['three minutes of music, mp3', 10, joinBytes(...Array.from({ length: 30 }, () => musicMp3))],
    [
      'music of 48 kHz that goes over to silence of 44.1 kHz, mp3: cut before that',
      10,
      joinBytes(
        await inFormat('mp3', anAudio({ seconds: 11.5, shape: musicLike(0.7), ...at48kHz })),
        await inFormat('mp3', silence(1.5)),
      ),
    ],
    [
      '5.1 music, m4a',
      4,
      await inFormat('m4a', anAudio({ seconds: 4, shape: musicLike(0.5), ...at48kHz, channels: 6 })),
    ],
    ['silence, tone, silence: stripped', 2.16, inWav(sequence(silence(2), aTone(2, 0.3), silence(3)))],
    ['a pause of 1.5 s inside: kept', 3.5, inWav(sequence(aTone(1, 0.3), silence(1.5), aTone(1, 0.3)))],
    [
      'a pause of 4.5 s across the cut: kept up to it',
      10,
      inWav(sequence(aTone(8, 0.3), silence(4.5), aTone(3, 0.3))),
    ],
    ['20 s of silence before a tone: stripped', 2.01, inWav(sequence(silence(20), aTone(2, 0.3)))],
    [
      'a murmur 49 dB below what follows it: stripped',
      4.01,
      inWav(sequence(aTone(11, 0.003), aTone(4, 0.9))),
    ],
    ['music, vorbis', 6, await inFormat('ogg', music)],
    ['music, webm', 4, await inFormat('webm', anAudio({ seconds: 4, shape: musicLike(0.1), ...at48kHz }))],
    ['music recorded with a pause of 20 s, matroska', 6, await inFormat('mka', music)],
    ['music, adts', 6, await inFormat('aac', music)],
    ['tone, aiff of 24 bits, 32 kHz', 2, await inFormat('aiff', aTone(2, 0.7, 32_000))],
    ['speech, caf', 5.5, await inFormat('caf', anAudio({ seconds: 5.5, shape: speechLike(0.05) }))],
    ['noise, float wav 192 kHz', 2, toWav(anAudio({ seconds: 2, shape: noise(0.05), sampleRate: 192_000 }))],
    ['music, mp4 with a picture track', 6, await withVideo(music)],
    ['drums that need the limiter', 3.77, inWav(anAudio({ seconds: 4, shape: drums(0.9) }))],
    ['one loud beat, then quiet ones', 3.89, inWav(anAudio({ seconds: 4, shape: oneLoudBeat }))],
    [
      'drums that start with a jump to their loudest',
      3.26,
      inWav(anAudio({ seconds: 4, shape: cutDrums })),
      true,
    ],
    ['clicks: an extreme crest factor', 3.65, inWav(anAudio({ seconds: 4, shape: clicks })), true],
  ];
  return clips.map(([name, seconds, bytes, isQuieter = false]) => ({ name, seconds, bytes, isQuieter }));
}

/** One sample near full scale every half second. */
function clicks(seconds: number): number {
  return Math.round(seconds * 44_100) % 22_050 === 0 ? 0.9 : 0;
}

/** A low beat each second; only the first, cut at its peak, is loud enough to count in the loudness. */
function oneLoudBeat(seconds: number): number {
  const beat = seconds % 1;
  return (seconds < 1 ? 0.9 : 0.1) * Math.cos(2 * Math.PI * 60 * beat) * Math.exp(-beat * 4.1);
}

/** A drum each second, cut so closely that it starts at its peak. */
function cutDrums(seconds: number): number {
  const beat = seconds % 1;
  return 0.9 * Math.cos(2 * Math.PI * 180 * beat) * Math.exp(-beat * 45);
}

function aTone(seconds: number, amplitude: number, sampleRate = 44_100): Audio {
  return anAudio({ seconds, shape: sine(440, amplitude), sampleRate });
}

/** Puts an ID3v2.3 tag with a 1×1 PNG as front cover, a title and an artist before the frames. */
function withCover(mp3: Uint8Array): Uint8Array {
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  return withPicture(mp3, png);
}

/** The frames after an ID3v2.3 tag that holds this PNG. */
export function withPicture(mp3: Uint8Array, png: Uint8Array): Uint8Array {
  const picture = joinBytes(Buffer.from('\0image/png\0\x03\0', 'latin1'), png);
  const frame = joinBytes(Buffer.from('APIC'), uint32s(picture.length), new Uint8Array(2), picture);
  const size = [21, 14, 7, 0].map((shift) => (frame.length >> shift) & 0x7f);
  return joinBytes(Buffer.from('ID3\x03\0\0', 'latin1'), Uint8Array.from(size), frame, mp3);
}

async function withVideo(audio: Audio): Promise<Uint8Array> {
  const video = ['-filter_complex', 'color=red:s=64x64:r=5:d=6[v]', '-map', '[v]', '-map', '0:a'];
  const codecs = ['-c:v', 'mpeg4', '-c:a', 'aac', '-shortest', '-f', 'mp4'];
  return encode(toWav(audio), 'mp4', [...video, ...codecs]);
}
