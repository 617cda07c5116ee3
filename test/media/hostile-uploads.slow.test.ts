import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { type Ffmpeg, RENDER_LIMITS } from '../../media/ffmpeg/ffmpeg.ts';
import {
  anAudio,
  joinBytes,
  musicLike,
  noise,
  sine,
  toWav,
  uint32s,
  wavHeader,
} from '../support/audio/audio.ts';
import {
  ENGINES,
  type EngineName,
  encode,
  HAS_NATIVE_FFMPEG,
  isOnThisMachine,
  makeUpload,
  openEngine,
} from '../support/audio/ffmpeg-engines.ts';
import { findOutcome, type MeasuredRender, measureRender } from '../support/audio/measured-render.ts';
import { createTestFolder } from '../support/service/program.ts';
import { withPicture } from './rendering/corpus.ts';

/** Files that are meant to do harm, written byte by byte. */

/** A FLAC of hours of digital silence in a few bytes a block: 20 h are under 1 MB. */
function aFlacBomb(): Uint8Array {
  const blocks = 48_000;
  const info = new DataView(new ArrayBuffer(34));
  info.setUint16(0, 65_535);
  info.setUint16(2, 65_535);
  // 20 bits of sample rate, 3 of channels - 1, 5 of bits - 1, 36 of total samples.
  info.setBigUint64(10, (44_100n << 44n) | (1n << 41n) | (15n << 36n) | BigInt(blocks * 65_535));
  const frames = Array.from({ length: blocks }, (_, block) => {
    const number = Buffer.from(String.fromCharCode(block));
    const head = Buffer.concat([Uint8Array.of(0xff, 0xf8, 0x79, 0x18), number, u16s(65_534)]);
    // Two constant subframes of the value 0.
    const body = Buffer.concat([head, Uint8Array.of(crc(8, 0x07, head)), new Uint8Array(6)]);
    return Buffer.concat([body, u16s(crc(16, 0x8005, body))]);
  });
  return Buffer.concat([Buffer.from('fLaC\x80\0\0\x22', 'latin1'), new Uint8Array(info.buffer), ...frames]);
}

function crc(width: number, polynomial: number, bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << (width - 8);
    for (let bit = 0; bit < 8; bit++) crc = crc & (1 << (width - 1)) ? (crc << 1) ^ polynomial : crc << 1;
    crc &= (1 << width) - 1;
  }
  return crc;
}

/** A grey PNG of `side` × `side` zero pixels, one bit each; 20,000² is 50 MB behind 49 kB. */
function aHugePng(side: number): Uint8Array {
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, side);
  header.setUint32(4, side);
  header.setUint8(8, 1);
  const pixels = deflateSync(Buffer.alloc(side * (1 + Math.ceil(side / 8))), { level: 9 });
  return joinBytes(
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    pngChunk('IHDR', new Uint8Array(header.buffer)),
    pngChunk('IDAT', pixels),
    pngChunk('IEND', new Uint8Array()),
  );
}

function pngChunk(type: string, data: Uint8Array): Uint8Array {
  const body = joinBytes(Buffer.from(type, 'latin1'), data);
  const frame = new DataView(new ArrayBuffer(8));
  frame.setUint32(0, data.length);
  frame.setUint32(4, Bun.hash.crc32(body));
  return joinBytes(new Uint8Array(frame.buffer, 0, 4), body, new Uint8Array(frame.buffer, 4, 4));
}

/** A WAV whose header promises this, followed by `bytes` of noise. */
function aLyingWav(
  options: { channels?: number; sampleRate?: number; bits?: number; dataBytes?: number },
  bytes = 40_000,
): Uint8Array {
  const { channels = 2, sampleRate = 44_100, bits = 16, dataBytes = bytes } = options;
  const body = Uint8Array.from({ length: bytes }, (_, index) => (index * 7919) % 251);
  return joinBytes(wavHeader({ format: 1, channels, sampleRate, bits, dataBytes }), body);
}

/** An mp4 whose one track keeps its samples in another file, as QuickTime's data references allow. */
function aReferencingMp4(target: string): Uint8Array {
  const url = Buffer.from(`file://${target}\0`, 'latin1');
  return aMov({ reference: box('url ', uint32s(0), url) });
}

/** A QuickTime file whose one track, of millions of packets, is played many times over: ffmpeg lists them all in memory. */
function aMovOfManyEdits(edits: number): Uint8Array {
  const list = new Uint32Array(edits * 3);
  for (let at = 0; at < list.length; at += 3) list.set([1000, 0, 0x1_0000], at);
  const entries = Buffer.from(list.buffer).swap32();
  return aMov({
    reference: box('url ', uint32s(1)),
    edits: box('edts', box('elst', uint32s(0, edits), entries)),
    samplesPerChunk: 0x7fff_ffff,
  });
}

function aMov(options: { reference: Uint8Array; edits?: Uint8Array; samplesPerChunk?: number }): Uint8Array {
  const { reference, edits = new Uint8Array(), samplesPerChunk = 1000 } = options;
  const dref = box('dref', uint32s(0, 1), reference);
  const entry = box('sowt', uint32s(0, 1), uint32s(0, 0), u16s(2, 16, 0, 0), uint32s(44_100 * 65_536));
  const stbl = box(
    'stbl',
    box('stsd', uint32s(0, 1), entry),
    box('stts', uint32s(0, 1, 1000, 1)),
    box('stsc', uint32s(0, 1, 1, samplesPerChunk, 1)),
    box('stsz', uint32s(0, 4, 1000)),
    box('stco', uint32s(0, 1, 0)),
  );
  const minf = box('minf', box('smhd', uint32s(0, 0)), box('dinf', dref), stbl);
  const mdhd = box('mdhd', uint32s(0, 0, 0, 44_100, 1000, 0));
  const hdlr = box('hdlr', uint32s(0, 0), Buffer.from('soun'), uint32s(0, 0, 0), new Uint8Array(1));
  const tkhd = box('tkhd', uint32s(7, 0, 0, 1, 0, 1000), new Uint8Array(60));
  const mvhd = box('mvhd', uint32s(0, 0, 0, 44_100, 1000), new Uint8Array(80));
  const moov = box('moov', mvhd, box('trak', tkhd, edits, box('mdia', mdhd, hdlr, minf)));
  return joinBytes(box('ftyp', Buffer.from('qt  '), uint32s(0), Buffer.from('qt  ')), moov);
}

function box(type: string, ...content: Uint8Array[]): Uint8Array {
  const body = joinBytes(...content);
  return joinBytes(uint32s(body.length + 8), Buffer.from(type, 'latin1'), body);
}

function u16s(...values: number[]): Uint8Array {
  return Buffer.from(Uint16Array.from(values).buffer).swap16();
}

/** A Matroska file of broken AAC packets in eight bytes each, all at the same time: ffmpeg complains about every one. */
function aMatroskaOfBrokenPackets(packets: number): Uint8Array {
  const head = ebml(0x1a45dfa3, ebml(0x4282, Buffer.from('matroska')));
  const audio = ebml(0xe1, joinBytes(ebml(0xb5, uint32s(0x472c_4400)), ebml(0x9f, [2])));
  const entry = joinBytes(
    ...[ebml(0xd7, [1]), ebml(0x73c5, [1]), ebml(0x83, [2]), ebml(0x86, Buffer.from('A_AAC'))],
    ...[ebml(0x63a2, [0x12, 0x10]), audio],
  );
  // Four kinds in turn, since ffmpeg prints a repeated line once.
  const kinds = [0x2100, 0x4011, 0x0707, 0x6110].map((packet) =>
    ebml(0xa3, [0x81, 0, 0, 0x80, packet >> 8, packet & 0xff]),
  );
  const four = joinBytes(...kinds);
  const blocks = new Uint8Array(Math.ceil(packets / 4) * four.length);
  for (let at = 0; at < blocks.length; at += four.length) blocks.set(four, at);
  const tracks = ebml(0x1654ae6b, ebml(0xae, entry));
  const cluster = ebml(0x1f43b675, joinBytes(ebml(0xe7, [0]), blocks));
  return joinBytes(head, ebml(0x18538067, joinBytes(tracks, cluster)));
}

function ebml(id: number, content: ArrayLike<number>): Uint8Array {
  const { length } = content;
  const size = length < 127 ? [0x80 | length] : [0x10 | (length >> 24), length >> 16, length >> 8, length];
  const idBytes = [id >>> 24, id >> 16, id >> 8, id].map((byte) => byte & 0xff);
  const first = idBytes.findIndex((byte) => byte !== 0);
  return joinBytes(Uint8Array.from(idBytes.slice(first)), Uint8Array.from(size), Uint8Array.from(content));
}

/** Playlists of every kind that would make ffmpeg open what they name. */
function playlistsNaming(target: string): [name: string, content: string][] {
  return [
    ['an HLS playlist', `#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n${target}\n#EXT-X-ENDLIST\n`],
    ['an ffconcat list', `ffconcat version 1.0\nfile '${target}'\n`],
    [
      'a DASH manifest',
      `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT9S"><Period><AdaptationSet mimeType="audio/mp4"><Representation id="1" bandwidth="1"><BaseURL>${target}</BaseURL></Representation></AdaptationSet></Period></MPD>`,
    ],
    [
      'an SDP description',
      'v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 5004 RTP/AVP 0\n',
    ],
    ['an IMF package', `<?xml version="1.0"?><AssetMap><Path>${target}</Path></AssetMap>`],
    [
      'a playlist behind an ID3 tag',
      `ID3\u0003\0\0\0\0\0\0#EXTM3U\n#EXTINF:10,\n${target}\n#EXT-X-ENDLIST\n`,
    ],
    ['a playlist that claims to be WAV', `RIFF....WAVE#EXTM3U\n#EXTINF:10,\n${target}\n`],
    ['a playlist that claims to be FLAC', `fLaC\n#EXTM3U\n#EXTINF:10,\n${target}\n`],
    ['a concat list behind an MPEG sync', `\u00ff\u00fbffconcat version 1.0\nfile '${target}'\n`],
  ];
}

setDefaultTimeout(300_000);

/** In wall time: a call that hangs takes all of its limit, however slow the machine is. */
const MAX_MS = RENDER_LIMITS.wallMs / 2;
/** The most processor time that any of them may take: so many times what an ordinary clip takes in the same engine. */
const MAX_CPU_RATIO = 2;
const MAX_RUNS = 5;
const MAX_BYTES = 256_000_000;

type Outcome = 'published' | 'not-audio' | 'unreadable' | 'silent' | 'too-complex';

const folder = createTestFolder();
const tone = anAudio({ seconds: 1, shape: sine(440, 0.3) });
const mp3 = await encodeMp3(3);
/** Longer than the part of a clip that is kept, so that rendering one takes as long as it can. */
const ordinaryMp3 = await encodeMp3(12);
const manyTracks = await encode(toWav(tone), 'mkv', [
  ...Array.from({ length: 200 }, () => ['-map', '0:a']).flat(),
  ...['-c:a', 'pcm_s16le', '-f', 'matroska'],
]);
const videoOnly = await encode(toWav(tone), 'mp4', [
  ...['-filter_complex', 'color=red:s=64x64:r=5:d=1[v]', '-map', '[v]', '-c:v', 'mpeg4', '-f', 'mp4'],
]);
/** Another player's file, which no upload may read, and a listener that no upload may call. */
const secret = join(folder, 'another-player.mp3');
await Bun.write(secret, mp3);
let calls = 0;
const listener = Bun.serve({
  port: 0,
  fetch: () => {
    calls++;
    return new Response(mp3);
  },
});
afterAll(() => listener.stop(true));

const NOT_A_NUMBER = anAudio({ seconds: 1, shape: () => Number.NaN });
const ENORMOUS = anAudio({ seconds: 1, shape: noise(1e30) });

type Hostile = [name: string, bytes: Uint8Array, outcomes: Outcome[]];

/** Small files that ask for much time or memory. */
const BOMBS: Hostile[] = [
  ['a FLAC of 20 hours of silence', aFlacBomb(), ['silent']],
  ['a WAV of 1 Hz', aLyingWav({ sampleRate: 1 }), ['published', 'unreadable']],
  ['a WAV of 1,000 channels', aLyingWav({ channels: 1000 }), ['unreadable']],
  ['an mp3 with a cover of 20,000 × 20,000', withPicture(mp3, aHugePng(20_000)), ['published']],
  ['a WAV of two samples', toWav(anAudio({ seconds: 2 / 44_100, shape: sine(9000, 0.5) })), ['published']],
  ['a file of 200 tracks', manyTracks, ['published', 'unreadable']],
];

const HOSTILE: Hostile[] = [
  ...BOMBS,
  ['a WAV of 4 GHz', aLyingWav({ sampleRate: 4_000_000_000 }), ['unreadable', 'published']],
  ['a WAV of no channels', aLyingWav({ channels: 0 }), ['unreadable']],
  ['a WAV of 0 bits', aLyingWav({ bits: 0 }), ['unreadable', 'published']],
  ['a WAV that claims 4 GB', aLyingWav({ dataBytes: 0xffff_ffff }), ['published']],
  ['a WAV without samples', aLyingWav({}, 0), ['unreadable', 'silent']],
  ['a WAV cut inside its header', aLyingWav({}).subarray(0, 30), ['unreadable']],
  ['a WAV of numbers that are none', toWav(NOT_A_NUMBER), ['unreadable']],
  ['a WAV 600 dB over full scale', toWav(ENORMOUS), ['unreadable']],
  ['an mp3 with 9 MB of cover', withPicture(mp3, new Uint8Array(9_000_000)), ['published']],
  [
    'an mp3 with junk before and after',
    joinBytes(withPicture(new Uint8Array(3000), aHugePng(8)), mp3, new Uint8Array(5000)),
    ['published'],
  ],
  ['a video without sound', videoOnly, ['unreadable']],
  ['an mp3 cut in the middle', mp3.subarray(0, 20_001), ['published']],
  ['an empty file', new Uint8Array(), ['not-audio']],
  ['an HTML page', Buffer.from('<!doctype html><audio src=x>'), ['not-audio']],
  ['an AVI', Buffer.from('RIFF\0\0\0\0AVI LIST'), ['not-audio']],
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
  ].map(
    (magic): Hostile => [
      `junk behind ${JSON.stringify(magic.slice(0, 12))}`,
      joinBytes(Buffer.from(magic, 'latin1'), junk(60_000)),
      ['unreadable', 'published', 'silent', 'too-complex'],
    ],
  ),
];

for (const engine of ENGINES) {
  describe.skipIf(!isOnThisMachine(engine))(`the ${engine} engine`, () => {
    let ffmpeg: Ffmpeg;
    beforeAll(async () => {
      ffmpeg = await openEngine(engine);
    });
    afterAll(() => ffmpeg.close());

    test.each(HOSTILE)('ends soon with %s', async (_, bytes, outcomes) => {
      const startedAt = performance.now();
      const { outcome } = await upload(ffmpeg, bytes);
      expect<string[]>(outcomes).toContain(outcome);
      expect(performance.now() - startedAt).toBeLessThan(MAX_MS);
    });

    test.each(BOMBS)('takes little processor time and memory for %s', async (_, bytes, outcomes) => {
      const directory = await makeUpload(folder, bytes);
      const { outcome, cpuRatio, peakBytes } = await measureBesideOrdinary(engine, directory);
      expect<string[]>(outcomes).toContain(outcome);
      expect(cpuRatio).toBeLessThan(MAX_CPU_RATIO);
      expect(peakBytes).toBeLessThan(MAX_BYTES);
    });

    test('ignores the data reference of an mp4: the sound is the same without the file', async () => {
      const target = join(folder, 'referenced.raw');
      await Bun.write(target, toWav(tone));
      const withTarget = await upload(ffmpeg, aReferencingMp4(target));
      await rm(target);
      const withoutTarget = await upload(ffmpeg, aReferencingMp4(target));
      expect(withTarget.outcome).toBe(withoutTarget.outcome);
      expect(withTarget.sound).toEqual(withoutTarget.sound);
    });

    const targets = [secret, `http://127.0.0.1:${listener.port}/x.mp3`];
    const playlists = targets.flatMap((target) =>
      playlistsNaming(target).map(([name, content]) => [target, name, content] as const),
    );
    test.each(playlists)('never opens %s for %s', async (_target, _name, content) => {
      const { outcome } = await upload(ffmpeg, Buffer.from(content));
      expect(['not-audio', 'unreadable', 'silent']).toContain(outcome);
      expect(calls).toBe(0);
    });
  });
}

test.skipIf(!HAS_NATIVE_FFMPEG)('keeps little of what a native ffmpeg complains about', async () => {
  const directory = await makeUpload(folder, aMatroskaOfBrokenPackets(200_000));
  const { outcome, peakBytes } = await measureRender('native', directory);
  expect(['unreadable', 'too-complex']).toContain(outcome);
  expect(peakBytes).toBeLessThan(MAX_BYTES / 2);
});

test('ends an embedded ffmpeg that asks for memory again and again', async () => {
  const { peakBytes: ordinaryBytes } = await measureOrdinary('embedded');
  const directory = await makeUpload(folder, aMovOfManyEdits(500_000));
  const { outcome, peakBytes } = await measureRender('embedded', directory);
  expect(outcome).toBe('too-complex');
  expect(peakBytes).toBeLessThan(1.5 * ordinaryBytes);
});

async function upload(ffmpeg: Ffmpeg, bytes: Uint8Array): Promise<{ outcome: string; sound: string }> {
  const directory = await makeUpload(folder, bytes);
  const outcome = await findOutcome(ffmpeg, directory);
  const sound = await readFile(join(directory, 'sound.mp3'), 'base64').catch(() => '');
  return { outcome, sound };
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
  const measured = await measureRender(engine, await makeUpload(folder, ordinaryMp3));
  expect(measured.outcome).toBe('published');
  ordinary.set(engine, measured);
  return measured;
}

function encodeMp3(seconds: number): Promise<Uint8Array> {
  const wav = toWav(anAudio({ seconds, shape: musicLike(0.5) }));
  return encode(wav, 'mp3', ['-c:a', 'libmp3lame', '-b:a', '128k', '-f', 'mp3']);
}

function junk(length: number): Uint8Array {
  const random = noise(128, 99);
  return Uint8Array.from({ length }, () => (random(0, 0) + 128) & 0xff);
}
