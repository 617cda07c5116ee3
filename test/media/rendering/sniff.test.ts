import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { type Demuxer, sniffAudio, sniffAudioFile } from '../../../media/rendering/sniff.ts';
import { joinBytes } from '../../support/audio/audio.ts';
import { makeFolder } from '../../support/audio/ffmpeg-engines.ts';

const folder = await makeFolder('sniff');
afterAll(folder.remove);

const KNOWN: [string, Demuxer][] = [
  ['RIFF\x24\0\0\0WAVEfmt ', 'wav'],
  ['OggS\0\x02', 'ogg'],
  ['fLaC\0\0\0\x22', 'flac'],
  ['\0\0\0\x20ftypisom', 'mov'],
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
  ['a RIFF header', 'RIFF\x24\0\0\0WAVEfmt ', 'mp3'],
] as const)('looks behind an ID3 tag: %s', async (_, behind, demuxer) => {
  const path = join(folder.path, Bun.randomUUIDv7());
  // 300 bytes of tag: 2 × 128 + 44, seven bits a byte.
  await Bun.write(path, joinBytes(bytesOf('ID3\x04\0\0\0\0\x02\x2c'), new Uint8Array(300), bytesOf(behind)));
  expect(await sniffAudioFile(path)).toBe(demuxer);
});

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'latin1'));
}
