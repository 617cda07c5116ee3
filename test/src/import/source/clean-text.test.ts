import { expect, test } from 'bun:test';
import { cleanText, listDamages, MAX_NAME_LENGTH } from '../../../../src/import/source/clean-text.ts';

const NUL = String.fromCharCode(0);

test('NUL bytes and halves of characters are removed, nothing else', () => {
  expect(cleanText(`a${NUL}b`, MAX_NAME_LENGTH)).toBe('ab');
  expect(cleanText('a\ud800b', MAX_NAME_LENGTH)).toBe('a\ufffdb');
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
    expect(cleanText(kept, MAX_NAME_LENGTH)).toBe(kept);
  }
});

test('a long name is cut between two characters', () => {
  expect(cleanText('ą'.repeat(128), MAX_NAME_LENGTH)).toBe('ą'.repeat(128));
  expect(cleanText('😀'.repeat(128), MAX_NAME_LENGTH)).toBe('😀'.repeat(128));
  expect(cleanText('😀'.repeat(129), MAX_NAME_LENGTH)).toBe('😀'.repeat(128));
  expect(cleanText(`a${'😀'.repeat(128)}`, MAX_NAME_LENGTH)).toBe(`a${'😀'.repeat(127)}`);
  const tower = `a${'\u0301'.repeat(500)}`;
  expect(cleanText(tower, MAX_NAME_LENGTH)).toBe(tower.slice(0, 128));
});

test('mojibake is repaired when it is certain, and kept as it is otherwise', () => {
  const mojibake = (text: string) => new TextDecoder('windows-1252').decode(new TextEncoder().encode(text));
  expect(cleanText(mojibake('Zażółć gęślą jaźń'), MAX_NAME_LENGTH)).toBe('Zażółć gęślą jaźń');
  expect(cleanText(mojibake('Привет'), MAX_NAME_LENGTH)).toBe('Привет');
  expect(cleanText('Ð¯', MAX_NAME_LENGTH)).toBe('Ð¯');
  expect(cleanText('Ãlvaro Ãñez', MAX_NAME_LENGTH)).toBe('Ãlvaro Ãñez');
  expect(cleanText('????', MAX_NAME_LENGTH)).toBe('????');
});

test.each([
  ['Âàñÿ', true],
  ['[VIP] ×èòåð 2', true],
  ['Müller', false],
  ['Zażółć', false],
  ['créée', false],
  ['Вася', false],
  ['À la', false],
])('%s looks like Windows-1251: %p', (text, expected) => {
  const damages = listDamages([text]);
  expect(damages).toEqual(expected ? [expect.stringContaining('looks like Windows-1251')] : []);
});

test('a text in which U+FFFD stands for lost characters counts as damaged', () => {
  expect(listDamages(['Ala', '\ufffd\ufffdw'])).toEqual([expect.stringContaining('U+FFFD')]);
});
