import { expect, test } from 'bun:test';
import { cleanText, LONGEST_NAME } from '../../../../src/import/source/clean-text.ts';

const NUL = String.fromCharCode(0);

test('NUL bytes and halves of characters are removed, nothing else', () => {
  expect(cleanText(`a${NUL}b`, LONGEST_NAME)).toBe('ab');
  expect(cleanText('a\ud800b', LONGEST_NAME)).toBe('a\ufffdb');
  for (const kept of [
    '@everyone',
    '<b>x</b>',
    '**bold** _x_',
    '\u200bzero',
    '\u202eright to left',
    '👨‍👩‍👧‍👦',
    'Żółw',
    '玩家',
  ]) {
    expect(cleanText(kept, LONGEST_NAME)).toBe(kept);
  }
});

test('a long name is cut between two visible characters', () => {
  const family = '👨‍👩‍👧‍👦';
  expect(cleanText(`${'a'.repeat(125)}${family}`, LONGEST_NAME)).toBe('a'.repeat(125));
  expect(cleanText('ą'.repeat(128), LONGEST_NAME)).toBe('ą'.repeat(128));
  expect(cleanText('😀'.repeat(128), LONGEST_NAME)).toBe('😀'.repeat(128));
  expect(cleanText('😀'.repeat(129), LONGEST_NAME)).toBe('😀'.repeat(128));
  expect(cleanText(`${'😀'.repeat(127)}👍🏽`, LONGEST_NAME)).toBe('😀'.repeat(127));
  const tower = `a${'\u0301'.repeat(500)}`;
  expect(cleanText(tower, LONGEST_NAME)).toBe(tower.slice(0, 128));
});

test('mojibake is repaired when it is certain, and kept as it is otherwise', () => {
  const mojibake = (text: string) => new TextDecoder('windows-1252').decode(new TextEncoder().encode(text));
  expect(cleanText(mojibake('Zażółć gęślą jaźń'), LONGEST_NAME)).toBe('Zażółć gęślą jaźń');
  expect(cleanText(mojibake('Привет'), LONGEST_NAME)).toBe('Привет');
  expect(cleanText('Ð¯', LONGEST_NAME)).toBe('Ð¯');
  expect(cleanText('Ãlvaro Ãñez', LONGEST_NAME)).toBe('Ãlvaro Ãñez');
  expect(cleanText('????', LONGEST_NAME)).toBe('????');
});
