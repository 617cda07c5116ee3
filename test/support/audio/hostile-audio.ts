import { deflateSync } from 'node:zlib';
import { joinBytes, wavHeader } from './audio.ts';

/** Files that are meant to do harm, written byte by byte. */

const FLAC_RATE = 44_100;
const FLAC_BLOCK_FRAMES = 4096;

/** A FLAC of hours of digital silence in a few bytes a block: 24 h are under 17 MB. */
export function aFlacBomb(hours: number): Uint8Array {
  const blocks = Math.floor((hours * 3600 * FLAC_RATE) / FLAC_BLOCK_FRAMES);
  const info = new DataView(new ArrayBuffer(34));
  info.setUint16(0, FLAC_BLOCK_FRAMES);
  info.setUint16(2, FLAC_BLOCK_FRAMES);
  // 20 bits of sample rate, 3 of channels - 1, 5 of bits - 1, 36 of total samples.
  const total = BigInt(blocks * FLAC_BLOCK_FRAMES);
  info.setBigUint64(10, (BigInt(FLAC_RATE) << 44n) | (1n << 41n) | (15n << 36n) | total);
  const head = joinBytes(Buffer.from('fLaC\x80\0\0\x22', 'latin1'), new Uint8Array(info.buffer));
  const stream = new Uint8Array(head.length + blocks * 20);
  stream.set(head);
  let at = head.length;
  for (let block = 0; block < blocks; block++) {
    const start = at;
    for (const byte of [0xff, 0xf8, 0xc9, 0x18, ...utf8Number(block)]) stream[at++] = byte;
    stream[at] = crc8(stream.subarray(start, at));
    at++;
    // Two constant subframes of the value 0.
    at += 6;
    const crc = crc16(stream.subarray(start, at));
    stream[at++] = crc >> 8;
    stream[at++] = crc & 0xff;
  }
  return stream.subarray(0, at);
}

/** FLAC numbers its blocks as UTF-8 encodes code points. */
function utf8Number(value: number): number[] {
  if (value < 0x80) return [value];
  if (value < 0x800) return [0xc0 | (value >> 6), 0x80 | (value & 0x3f)];
  if (value < 0x10000) return [0xe0 | (value >> 12), 0x80 | ((value >> 6) & 0x3f), 0x80 | (value & 0x3f)];
  return [
    0xf0 | (value >> 18),
    0x80 | ((value >> 12) & 0x3f),
    0x80 | ((value >> 6) & 0x3f),
    0x80 | (value & 0x3f),
  ];
}

const CRC8 = crcTable(8, 0x07);
const CRC16 = crcTable(16, 0x8005);

function crc8(bytes: Uint8Array): number {
  return bytes.reduce((crc, byte) => CRC8[crc ^ byte] ?? 0, 0);
}

function crc16(bytes: Uint8Array): number {
  return bytes.reduce((crc, byte) => ((crc << 8) & 0xffff) ^ (CRC16[(crc >> 8) ^ byte] ?? 0), 0);
}

function crcTable(width: number, polynomial: number): number[] {
  return Array.from({ length: 256 }, (_, byte) => {
    let crc = byte << (width - 8);
    for (let bit = 0; bit < 8; bit++) crc = crc & (1 << (width - 1)) ? (crc << 1) ^ polynomial : crc << 1;
    return crc & ((1 << width) - 1);
  });
}

/** A grey PNG of `side` × `side` zero pixels, one bit each; 20,000² is 50 MB behind 49 kB. */
export function aHugePng(side: number): Uint8Array {
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
export function aLyingWav(
  options: { channels?: number; sampleRate?: number; bits?: number; dataBytes?: number },
  bytes = 40_000,
): Uint8Array {
  const { channels = 2, sampleRate = 44_100, bits = 16, dataBytes = bytes } = options;
  const body = Uint8Array.from({ length: bytes }, (_, index) => (index * 7919) % 251);
  return joinBytes(wavHeader({ format: 1, channels, sampleRate, bits, dataBytes }), body);
}

/** An mp4 whose one track keeps its samples in another file, as QuickTime's data references allow. */
export function aReferencingMp4(target: string): Uint8Array {
  const url = Buffer.from(`file://${target}\0`, 'latin1');
  return aMov({ reference: box('url ', uint32s(0), url) });
}

/** A QuickTime file whose one track, of millions of packets, is played many times over: ffmpeg lists them all in memory. */
export function aMovOfManyEdits(edits: number): Uint8Array {
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

function uint32s(...values: number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(values.length * 4));
  for (const [index, value] of values.entries()) view.setUint32(index * 4, value);
  return new Uint8Array(view.buffer);
}

function u16s(...values: number[]): Uint8Array {
  const view = new DataView(new ArrayBuffer(values.length * 2));
  for (const [index, value] of values.entries()) view.setUint16(index * 2, value);
  return new Uint8Array(view.buffer);
}

/** A Matroska file of broken AAC packets in eight bytes each, all at the same time: ffmpeg complains about every one. */
export function aMatroskaOfBrokenPackets(packets: number): Uint8Array {
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
export function playlistsNaming(target: string): { name: string; bytes: Uint8Array }[] {
  const text = (name: string, content: string) => ({ name, bytes: new Uint8Array(Buffer.from(content)) });
  return [
    text('an HLS playlist', `#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n${target}\n#EXT-X-ENDLIST\n`),
    text('an ffconcat list', `ffconcat version 1.0\nfile '${target}'\n`),
    text(
      'a DASH manifest',
      `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT9S"><Period><AdaptationSet mimeType="audio/mp4"><Representation id="1" bandwidth="1"><BaseURL>${target}</BaseURL></Representation></AdaptationSet></Period></MPD>`,
    ),
    text(
      'an SDP description',
      `v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 5004 RTP/AVP 0\n`,
    ),
    text('an IMF package', `<?xml version="1.0"?><AssetMap><Path>${target}</Path></AssetMap>`),
    text(
      'a playlist behind an ID3 tag',
      `ID3\u0003\0\0\0\0\0\0#EXTM3U\n#EXTINF:10,\n${target}\n#EXT-X-ENDLIST\n`,
    ),
    text('a playlist that claims to be WAV', `RIFF....WAVE#EXTM3U\n#EXTINF:10,\n${target}\n`),
    text('a playlist that claims to be FLAC', `fLaC\n#EXTM3U\n#EXTINF:10,\n${target}\n`),
    text('a concat list behind an MPEG sync', `\u00ff\u00fbffconcat version 1.0\nfile '${target}'\n`),
  ];
}
