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
  ['has no port', ['', 'play.example.org', '2001:db8::1:27015']],
  ['has no port of UDP', ['play.example.org:0', 'play.example.org:65536']],
  ['has no host', ['a b:27015', 'a\r\nb:27015', ':27015']],
])('refuses an address that %s: %j', (_, addresses) => {
  for (const address of addresses) {
    expect([address, tryParseServerAddress(address)]).toEqual([address, undefined]);
    expect(() => parseServerAddress(address)).toThrow(InvalidInput);
  }
});
