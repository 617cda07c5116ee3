import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { type Demuxer, sniffAudio, sniffAudioFile } from '../../../media/rendering/sniff.ts';
import { createTestFolder } from '../../support/service/program.ts';

const folder = createTestFolder();

const KNOWN: [string, Demuxer][] = [
  ['RIFF\x24\0\0\0WAVEfmt ', 'wav'],
  ['RIFX\0\0\0\x24WAVEfmt ', 'wav'],
  ['RF64\xff\xff\xff\xffWAVEds64', 'wav'],
  ['BW64\xff\xff\xff\xffWAVEds64', 'wav'],
  ['OggS\0\x02', 'ogg'],
  ['fLaC\0\0\0\x22', 'flac'],
  ['\0\0\0\x20ftypisom', 'mov'],
  ['\0\0\0\x08wide', 'mov'],
  ['\0\0\x10\0moov', 'mov'],
  ['\x1a\x45\xdf\xa3\x9f', 'matroska'],
  ['FORM\0\0\0\0AIFF', 'aiff'],
  ['FORM\0\0\0\0AIFC', 'aiff'],
  ['caff\0\x01', 'caf'],
  ['\xff\xfb\x90\x64', 'mp3'],
  ['\xff\xf3\x40\xc4', 'mp3'],
  ['\xff\xf1\x50\x80', 'aac'],
  ['\xff\xf9\x50\x80', 'aac'],
];

test.each(KNOWN)('takes %j for %s', (head, demuxer) => {
  expect(sniffAudio(bytesOf(head))).toBe(demuxer);
});

test.each([
  '',
  'R',
  '#EXTM3U',
  'ffconcat version 1.0',
  '<?xml',
  'RIFF\0\0\0\0AVI ',
  'FORM\0\0\0\0ILBM',
  'MThd\0\0\0\x06',
  '\xff\xff\xff\xff',
  '\xff\xfb\xf0\0',
  '\xff\xfb\x9c\0',
  '\xff\xeb\x90\0',
  '\xff\xf1\xfc\0',
  'PK\x03\x04',
  '\x89PNG\r\n',
])('refuses %j', (head) => {
  expect(sniffAudio(bytesOf(head))).toBeUndefined();
});

test.each([
  ['an mp3 frame', '\xff\xfb\x90\x64', 'mp3'],
  ['an ADTS frame', '\xff\xf1\x50\x80', 'aac'],
  ['a FLAC stream', 'fLaC\0\0\0\x22', 'flac'],
  ['padding', '\0\0\0\0', 'mp3'],
  ['a WAV', 'RIFF\x24\0\0\0WAVEfmt ', 'wav'],
  ['an AIFF', 'FORM\0\0\0\0AIFF', 'aiff'],
  ['another tag and a WAV', `ID3\x03\0\0\0\0\0\x01\0RIFF\x24\0\0\0WAVEfmt `, 'wav'],
] as const)('looks behind an ID3 tag: %s', async (_, behind, demuxer) => {
  // 300 bytes of tag: 2 × 128 + 44, seven bits a byte.
  expect(await sniffBytes(`ID3\x04\0\0\0\0\x02\x2c${'\0'.repeat(300)}${behind}`)).toBe(demuxer);
});

/** A header of 128 kbit/s and 44.1 kHz, whose frames have 417 bytes, and an ADTS header of 300 bytes. */
const MP3_FRAME = '\xff\xfb\x90\x64'.padEnd(417, '\0');
const ADTS_FRAME = '\xff\xf1\x50\x80\x25\x80\x1f'.padEnd(300, '\0');
/** 576 samples at 16 kHz and 64 kbit/s: 288 bytes. */
const MPEG_2_FRAME = '\xff\xf3\x88\x64'.padEnd(288, '\0');

test.each([
  ['NULs', '\0'.repeat(417), MP3_FRAME, 'mp3'],
  ['set bits', '\xff'.repeat(100), MP3_FRAME, 'mp3'],
  ['an APE tag', `APETAGEX\xd0\x07\0\0${'x'.repeat(500)}`, MP3_FRAME, 'mp3'],
  ['text', 'Downloaded from example.org. '.repeat(10), MP3_FRAME, 'mp3'],
  ['60,000 bytes', '\xff\xfb\x90'.repeat(20_000), MPEG_2_FRAME, 'mp3'],
  ['text', 'Downloaded from example.org. '.repeat(10), ADTS_FRAME, 'aac'],
] as const)('finds MPEG audio behind %s', async (_, junk, frame, demuxer) => {
  expect(await sniffBytes(junk + frame.repeat(2))).toBe(demuxer);
});

test.each([
  ['one frame', `text${MP3_FRAME}`],
  ['frames of two kinds', `text${MP3_FRAME}${MPEG_2_FRAME}`],
  ['frames that do not follow each other', `text${MP3_FRAME}-${MP3_FRAME}`],
  ['frames behind 64 KB', `${'x'.repeat(65_536)}${MP3_FRAME.repeat(3)}`],
  ['a playlist', `\0\0#EXTM3U\n#EXTINF:10,\nhttps://example.org/x.mp3\n`],
])('finds none in %s', async (_, text) => {
  expect(await sniffBytes(text)).toBeUndefined();
});

async function sniffBytes(text: string): Promise<Demuxer | undefined> {
  const path = join(folder, Bun.randomUUIDv7());
  await Bun.write(path, bytesOf(text));
  return sniffAudioFile(path);
}

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'latin1'));
}
