import { expect, test } from 'bun:test';
import { InvalidInput } from '../../../src/domain/errors.ts';
import {
  formatServerAddress,
  parseServerAddress,
  tryParseServerAddress,
} from '../../../src/domain/server-address.ts';

test.each([
  ['play.example.org:27015', { host: 'play.example.org', port: 27015 }],
  ['10.0.0.1:1', { host: '10.0.0.1', port: 1 }],
  ['[2001:db8::1]:65535', { host: '2001:db8::1', port: 65535 }],
])('%s is host and port, and back', (address, expected) => {
  expect(parseServerAddress(address)).toEqual(expected);
  expect(formatServerAddress(expected)).toBe(address);
});

test.each([
  '',
  'play.example.org',
  'play.example.org:0',
  'play.example.org:65536',
  '2001:db8::1:27015',
  'a b:27015',
  'a\r\nb:27015',
  ':27015',
])('%j is refused', (address) => {
  expect(tryParseServerAddress(address)).toBeUndefined();
  expect(() => parseServerAddress(address)).toThrow(InvalidInput);
});
