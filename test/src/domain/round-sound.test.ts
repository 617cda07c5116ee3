import { expect, test } from 'bun:test';
import {
  parseStart,
  parseStartMs,
  soundFileName,
  titleFromFileName,
  tryParseSoundFileName,
} from '../../../src/domain/round-sound.ts';
import { parseSteamId } from '../../../src/domain/steam-id.ts';

test.each([
  ['Victory.mp3', 'Victory.mp3'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\Users\\x\\Desktop\\intro.wav', 'intro.wav'],
  ['/storage/roundsound/1.mp3', '1.mp3'],
  ['a\0b\u0007\nc.mp3', 'a b c.mp3'],
  ['\u202egnp.3pm\u202c.mp3', 'gnp.3pm.mp3'],
  ['\u2066hidden\u2069\u200f.ogg', 'hidden.ogg'],
  ['zero\u200bwidth\ufeff.mp3', 'zerowidth.mp3'],
  ['Zaz\u0307o\u0301łc\u0301.mp3', 'Zażółć.mp3'],
  ['cafe\u200b\u0301.mp3', 'café.mp3'],
  ['👩‍🚀 theme.mp3', '👩‍🚀 theme.mp3'],
  ['half \ud83d emoji.mp3', 'half emoji.mp3'],
  ['  spaces   inside  .mp3 ', 'spaces inside .mp3'],
  ['', 'sound'],
  ['..', 'sound'],
  ['uploads/', 'sound'],
  ['\u202e\u202e', 'sound'],
  ['\u3164\u2800', 'sound'],
])('makes %j the title %j', (fileName, title) => {
  expect(titleFromFileName(fileName)).toBe(title);
});

test('keeps 128 characters of a title, and no half of one', () => {
  expect(titleFromFileName('é'.repeat(300))).toBe('é'.repeat(128));
  expect(titleFromFileName('🎵'.repeat(300))).toBe('🎵'.repeat(128));
});

test.each([
  ['0', 0],
  ['12500', 12_500],
  [' 600000 ', 600_000],
])('reads a start of %j ms', (text, startMs) => {
  expect(parseStartMs(text)).toBe(startMs);
});

test.each([
  ['12.5s', 12_500],
  ['12.5', 12_500],
  ['500ms', 500],
  ['0s', 0],
  ['600 s', 600_000],
  ['1:07.5', 67_500],
  ['1:07,5', 67_500],
  ['67.5', 67_500],
  ['0:7', 7000],
  ['10:00', 600_000],
])('reads %j as people write a start', (text, startMs) => {
  expect(parseStart(text)).toBe(startMs);
});

test('refuses other starts, and says what is allowed', () => {
  for (const text of ['', '600001', '-1', '1.5', '1e3', '0x10', 'soon', '1'.repeat(400)]) {
    expect(() => parseStartMs(text)).toThrow("isn't valid: use whole milliseconds from 0 to 600000");
  }
  for (const text of ['', '601s', '-1s', '1m', '.5', '1:', '1:60', '1:500ms', '10:01', '0:01:07']) {
    expect(() => parseStart(text)).toThrow(
      'is not a start: use minutes and seconds up to 10:00, such as 1:07.5 or 12.5s',
    );
  }
});

test('the files of a sound are named after its player, and lead back to them', () => {
  const player = parseSteamId('76561198000000001');
  for (const rendition of ['stereo', 'voice'] as const) {
    expect(tryParseSoundFileName(soundFileName(player, rendition))).toBe(player);
  }
  for (const name of ['1.mp3', 'x76561198000000001.mp3', '76561198000000001.mono.mp3', '.1.partial', '']) {
    expect(tryParseSoundFileName(name)).toBeUndefined();
  }
});
