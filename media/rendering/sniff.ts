import { type FileHandle, open } from 'node:fs/promises';

/** The demuxers that uploads may use, with their names for ffmpeg's `-f`. */
export type Demuxer = 'wav' | 'ogg' | 'flac' | 'mov' | 'matroska' | 'aiff' | 'caf' | 'mp3' | 'aac';

/** The bytes that `sniffAudio` needs. */
const HEAD_BYTES = 16;
const ID3_HEADER_BYTES = 10;
/** A file may have several tags. */
const MAX_ID3_TAGS = 8;
/** Where ffmpeg's demuxers, too, look for the first frame of MPEG audio. */
const SEARCHED_BYTES = 65_536;

/**
 * Determines the demuxer of an upload from its first bytes, before ffmpeg reads it; its name and declared type are
 * ignored. ID3 tags are skipped, and so is up to 64 KB of anything else before MPEG audio or ADTS: padding, an APE tag,
 * text. Playlists (HLS, ffconcat, DASH) and other formats that refer to files have no signature here, so they never reach
 * ffmpeg.
 * @returns `undefined` for any other format.
 */
export async function sniffAudioFile(path: string): Promise<Demuxer | undefined> {
  const file = await open(path, 'r');
  try {
    let position = 0;
    for (let tags = 0; ; tags++) {
      const head = await readAt(file, position, HEAD_BYTES);
      const tagBytes = tags < MAX_ID3_TAGS ? id3Bytes(head) : undefined;
      if (tagBytes === undefined) {
        const start = await readAt(file, position, SEARCHED_BYTES);
        // Behind a tag anything else is left to the demuxer of MP3, which skips more junk than is searched here.
        return sniffAudio(head) ?? findMpegAudio(start) ?? (tags > 0 ? 'mp3' : undefined);
      }
      position += tagBytes;
    }
  } finally {
    await file.close();
  }
}

/** The demuxer for data that starts with these bytes (16 are enough), or `undefined`. */
export function sniffAudio(head: Uint8Array): Demuxer | undefined {
  const text = Buffer.from(head).toString('latin1');
  const has = (at: number, ...signatures: string[]) =>
    signatures.some((signature) => text.startsWith(signature, at));
  if (has(0, 'RIFF', 'RIFX', 'RF64', 'BW64') && has(8, 'WAVE')) return 'wav';
  if (has(0, 'OggS')) return 'ogg';
  if (has(0, 'fLaC')) return 'flac';
  // QuickTime files of before 2001 have no `ftyp`.
  if (has(4, 'ftyp', 'moov', 'mdat', 'wide', 'free', 'skip')) return 'mov';
  if (has(0, '\x1aE\xdf\xa3')) return 'matroska';
  if (has(0, 'FORM') && has(8, 'AIF')) return 'aiff';
  if (has(0, 'caff')) return 'caf';
  return parseFrameHeader(head)?.demuxer;
}

/** The demuxer of the first frame of MPEG audio or ADTS that another one of its kind follows directly. */
function findMpegAudio(bytes: Uint8Array): 'mp3' | 'aac' | undefined {
  for (let at = bytes.indexOf(0xff); at !== -1; at = bytes.indexOf(0xff, at + 1)) {
    const frame = parseFrameHeader(bytes.subarray(at));
    const next = frame?.bytes && parseFrameHeader(bytes.subarray(at + frame.bytes));
    if (next && next.kind === frame.kind) return frame.demuxer;
  }
  return undefined;
}

/** In kbit/s, by MPEG-1's layers I, II and III, then layer I of MPEG-2, then its other layers; 0 is a free format. */
const BIT_RATES = [
  [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
];
const SAMPLE_RATES = [44_100, 48_000, 32_000];

/** `bytes` is the length of the frame, 0 when the header does not tell; `kind` is what all frames of a stream share. */
type Frame = { demuxer: 'mp3' | 'aac'; bytes: number; kind: string };

/**
 * Parses a frame header of MPEG audio or ADTS: eleven (ADTS: twelve) set bits, then fields without reserved values.
 * @see http://www.mp3-tech.org/programmer/frame_header.html
 * @see https://wiki.multimedia.cx/index.php/ADTS
 */
function parseFrameHeader(head: Uint8Array): Frame | undefined {
  const [sync = 0, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0] = head;
  if (sync !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  const version = (second >> 3) & 0b11;
  const layer = 4 - ((second >> 1) & 0b11);
  if (layer === 4) {
    if ((second & 0xf6) !== 0xf0 || ((third >> 2) & 0b1111) >= 13) return undefined;
    const bytes = ((fourth & 0b11) << 11) | (fifth << 3) | (sixth >> 5);
    return { demuxer: 'aac', bytes, kind: `aac ${second} ${third}` };
  }
  const bitRate = BIT_RATES[version === 3 ? layer - 1 : layer === 1 ? 3 : 4]?.[third >> 4];
  const sampleRate = SAMPLE_RATES[(third >> 2) & 0b11];
  if (version === 1 || bitRate === undefined || sampleRate === undefined) return undefined;
  // MPEG-2 halves the sample rates, MPEG-2.5 halves them again; in layer III they halve the samples of a frame.
  const rate = sampleRate / (version === 3 ? 1 : version === 2 ? 2 : 4);
  const samples = layer === 1 ? 384 : layer === 3 && version !== 3 ? 576 : 1152;
  const slotBytes = layer === 1 ? 4 : 1;
  const slots = Math.floor((samples / 8 / slotBytes) * ((bitRate * 1000) / rate)) + ((third >> 1) & 1);
  return {
    demuxer: 'mp3',
    bytes: bitRate === 0 ? 0 : slots * slotBytes,
    kind: `mp3 ${second} ${sampleRate}`,
  };
}

/**
 * The length of an ID3v2 tag with its header and footer.
 * @see https://id3.org/id3v2.4.0-structure section 3.1: seven bits a byte.
 */
function id3Bytes(head: Buffer): number | undefined {
  if (head.toString('latin1', 0, 3) !== 'ID3') return undefined;
  const size = head.subarray(6, 10).reduce((sum, byte) => sum * 128 + (byte & 0x7f), 0);
  const hasFooter = ((head[5] ?? 0) & 0x10) !== 0;
  return ID3_HEADER_BYTES + size + (hasFooter ? ID3_HEADER_BYTES : 0);
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}
