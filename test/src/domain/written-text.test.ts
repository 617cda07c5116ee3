import { expect, test } from 'bun:test';
import { parseWrittenText, WrongLength } from '../../../src/domain/text/written-text.ts';

const LIMITS = { minimum: 1, maximum: 10 };

test.each([
  ['  trimmed  ', 'trimmed'],
  ['a\r\nb\rc\nd', 'a\nb\nc\nd'],
  ['a\0b\u0007c\u001b[31m', 'abc[31m'],
  ['a\tb', 'a b'],
  ['a\n\n\nb', 'a\n\n\nb'],
  [`a${'\n'.repeat(900)}b`, 'a\n\n\nb'],
  ['a\n \n\u00a0\n\n \nb', 'a\n\n\nb'],
  ['👍'.repeat(10), '👍'.repeat(10)],
])('a written text %j is stored as %j', (text, stored) => {
  expect(parseWrittenText(text, LIMITS)).toBe(stored);
});

test.each(['', ' \n ', '\u200b', 'a'.repeat(11), '👍'.repeat(11)])('a written text %j is refused', (text) => {
  expect(() => parseWrittenText(text, LIMITS)).toThrow(WrongLength);
});
