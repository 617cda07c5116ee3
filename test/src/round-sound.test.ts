import { expect, test } from 'bun:test';
import { titleOf } from '../../src/round-sound.ts';

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
  ['👩‍🚀 theme.mp3', '👩‍🚀 theme.mp3'],
  ['half \ud83d emoji.mp3', 'half emoji.mp3'],
  ['  spaces   inside  .mp3 ', 'spaces inside .mp3'],
  ['', 'sound'],
  ['..', 'sound'],
  ['uploads/', 'sound'],
  ['\u202e\u202e', 'sound'],
  ['\u3164\u2800', 'sound'],
])('makes %j the title %j', (fileName, title) => {
  expect(titleOf(fileName)).toBe(title);
});

test('keeps 128 characters of a title, and no half of one', () => {
  expect(titleOf('é'.repeat(300))).toBe('é'.repeat(128));
  expect(titleOf('🎵'.repeat(300))).toBe('🎵'.repeat(128));
});
