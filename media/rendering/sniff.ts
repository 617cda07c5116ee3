import { type FileHandle, open } from 'node:fs/promises';

/** The demuxers that uploads may use, with their names for ffmpeg's `-f`. */
export type Demuxer = 'wav' | 'ogg' | 'flac' | 'mov' | 'matroska' | 'aiff' | 'caf' | 'mp3' | 'aac';

/** The bytes that `sniffAudio` needs. */
const HEAD_BYTES = 16;
const ID3_HEADER_BYTES = 10;

/**
 * Determines the demuxer of an upload from its first bytes, before ffmpeg reads it; its name and declared type are
 * ignored. Playlists (HLS, ffconcat, DASH) and other formats that refer to files have no signature here, so they never
 * reach ffmpeg.
 * @returns `undefined` for any other format.
 */
export async function sniffAudioFile(path: string): Promise<Demuxer | undefined> {
  const file = await open(path, 'r');
  try {
    const head = await readAt(file, 0, HEAD_BYTES);
    const tagBytes = id3Bytes(head);
    if (tagBytes === undefined) return sniffAudio(head);
    // ADTS and FLAC may have an ID3 tag too; anything else is treated as MP3, whose demuxer skips padding and junk.
    const behind = sniffAudio(await readAt(file, tagBytes, HEAD_BYTES));
    return behind === 'aac' || behind === 'flac' ? behind : 'mp3';
  } finally {
    await file.close();
  }
}

/** The demuxer for data that starts with these bytes (16 are enough), or `undefined`. */
export function sniffAudio(head: Uint8Array): Demuxer | undefined {
  if (hasAscii(head, 0, 'RIFF') && hasAscii(head, 8, 'WAVE')) return 'wav';
  if (hasAscii(head, 0, 'OggS')) return 'ogg';
  if (hasAscii(head, 0, 'fLaC')) return 'flac';
  if (hasAscii(head, 4, 'ftyp')) return 'mov';
  if (hasBytes(head, 0, [0x1a, 0x45, 0xdf, 0xa3])) return 'matroska';
  if (hasAscii(head, 0, 'FORM') && hasAscii(head, 8, 'AIF')) return 'aiff';
  if (hasAscii(head, 0, 'caff')) return 'caf';
  if (hasAscii(head, 0, 'ID3')) return 'mp3';
  return sniffMpegSync(head);
}

/**
 * A frame header of MPEG audio or ADTS: eleven (ADTS: twelve) set bits, then fields without reserved values.
 * @see http://www.mp3-tech.org/programmer/frame_header.html
 */
function sniffMpegSync(head: Uint8Array): 'mp3' | 'aac' | undefined {
  const [sync = 0, second = 0, third = 0] = head;
  if (sync !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  const version = (second >> 3) & 0b11;
  const layer = (second >> 1) & 0b11;
  if (layer === 0) return (second & 0xf6) === 0xf0 && ((third >> 2) & 0b1111) < 13 ? 'aac' : undefined;
  const bitrate = third >> 4;
  const sampleRate = (third >> 2) & 0b11;
  return version !== 1 && bitrate !== 15 && sampleRate !== 3 ? 'mp3' : undefined;
}

/**
 * The length of an ID3v2 tag with its header and footer.
 * @see https://id3.org/id3v2.4.0-structure section 3.1: seven bits a byte.
 */
function id3Bytes(head: Uint8Array): number | undefined {
  if (!hasAscii(head, 0, 'ID3')) return undefined;
  const size = head.subarray(6, 10).reduce((sum, byte) => sum * 128 + (byte & 0x7f), 0);
  const hasFooter = ((head[5] ?? 0) & 0x10) !== 0;
  return ID3_HEADER_BYTES + size + (hasFooter ? ID3_HEADER_BYTES : 0);
}

async function readAt(file: FileHandle, position: number, length: number): Promise<Uint8Array> {
  const { bytesRead, buffer } = await file.read(new Uint8Array(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

function hasAscii(bytes: Uint8Array, offset: number, text: string): boolean {
  return hasBytes(
    bytes,
    offset,
    Array.from(text, (character) => character.charCodeAt(0)),
  );
}

function hasBytes(bytes: Uint8Array, offset: number, expected: readonly number[]): boolean {
  return expected.every((byte, index) => bytes[offset + index] === byte);
}
