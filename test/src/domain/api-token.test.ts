import { expect, test } from 'bun:test';
import { generateApiToken, hashApiToken, isApiToken } from '../../../src/domain/api-token.ts';

test('a token is capi_, 30 random base62 characters and 6 of their CRC-32', () => {
  const tokens = Array.from({ length: 500 }, generateApiToken);
  for (const token of tokens) {
    expect(token).toMatch(/^capi_[0-9A-Za-z]{36}$/);
    expect(isApiToken(token)).toBe(true);
  }
  expect(new Set(tokens).size).toBe(500);
});

test('every character comes up about as often as any other', () => {
  const counts = new Map<string, number>();
  const drawn = 30 * 3000;
  for (let i = 0; i < 3000; i++) {
    for (const character of generateApiToken().slice(5, 35)) {
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
  }
  expect(counts.size).toBe(62);
  for (const count of counts.values()) expect(count / (drawn / 62)).toBeWithin(0.8, 1.2);
});

test('the checksum is CRC-32 of the random part in base62, high digit first', () => {
  // Computed bit by bit, apart from the function under test.
  const random = '0'.repeat(30);
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  let crc = 0xffff_ffff;
  for (const byte of Buffer.from(random)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb8_8320 : crc >>> 1;
  }
  let rest = (crc ^ 0xffff_ffff) >>> 0;
  let digits = '';
  while (digits.length < 6) {
    digits = alphabet[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  expect(isApiToken(`capi_${random}${digits}`)).toBe(true);
});

test('one changed, missing or added character makes it invalid', () => {
  const token = generateApiToken();
  for (let i = 5; i < token.length; i++) {
    const other = token[i] === 'x' ? 'y' : 'x';
    expect(isApiToken(token.slice(0, i) + other + token.slice(i + 1))).toBe(false);
  }
  for (const wrong of [
    token.slice(1),
    token.slice(0, -1),
    `${token}0`,
    ` ${token}`,
    `${token}\n`,
    token.toUpperCase(),
    token.replace('capi', 'papi'),
    '',
    'capi_',
    '\0',
  ]) {
    expect(isApiToken(wrong)).toBe(false);
  }
});

test('a token is stored as SHA-256 in hexadecimal', () => {
  expect(hashApiToken('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
