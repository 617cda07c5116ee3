import { describe, expect, test } from 'bun:test';
import { InvalidInput } from '../../../src/domain/errors.ts';
import { accountId, parseSteamId, tryParseSteamId, UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';

describe('parseSteamId', () => {
  test.each([
    '76561198000000001',
    'STEAM_0:1:19867136',
    'STEAM_1:1:19867136',
    'steam_0:1:19867136',
    '[U:1:39734273]',
  ])('reads %s as the same account', (text) => {
    expect(String(parseSteamId(text))).toBe('76561198000000001');
  });

  test.each([
    '',
    '0',
    '76561197960265728',
    '76561202255233024',
    '7656119800000000',
    '765611980000000011',
    'STEAM_2:1:1',
    'STEAM_0:2:1',
    '[U:1:4294967296]',
    '[U:1:0]',
    '[G:1:4]',
    'U:1:39734273',
    '[U:1:39734273',
    'U:1:39734273]',
    'x76561198000000001',
    ' 76561198000000001',
    '76561198000000001 ',
    '76561198000000001\n',
    ' STEAM_0:1:19867136',
    '[U:1:39734273]\n',
    '76561198000000001x',
    'xSTEAM_0:1:19867136',
    'STEAM_0:1:19867136x',
    'x[U:1:39734273]',
    '[U:1:39734273]x',
    'BOT',
    'STEAM_ID_PENDING',
    '0x110000100000001',
    '1e17',
    '７６５６１１９８０００００００１',
  ])('refuses %p and says what is allowed', (text) => {
    expect(() => parseSteamId(text)).toThrow(InvalidInput);
    expect(() => parseSteamId(text)).toThrow('STEAM_X:Y:Z');
    expect(tryParseSteamId(text)).toBeUndefined();
  });

  test('quotes the first 64 characters of what it refuses', () => {
    expect(() => parseSteamId('x'.repeat(100))).toThrow(`"${'x'.repeat(64)}" is not a SteamID`);
  });

  test('covers the whole range of account ids', () => {
    expect(String(parseSteamId('[U:1:4294967295]'))).toBe('76561202255233023');
    expect(accountId(parseSteamId('76561202255233023'))).toBe(4294967295);
    expect(accountId(parseSteamId('[U:1:1]'))).toBe(1);
    expect(accountId(UNKNOWN_STEAM_ID)).toBe(0);
  });
});
