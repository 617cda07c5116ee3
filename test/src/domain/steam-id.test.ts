import { describe, expect, test } from 'bun:test';
import { InvalidInput } from '../../../src/domain/errors.ts';
import { tryParsePersonReference } from '../../../src/domain/person-reference.ts';
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
    ['of no account', ['0', '76561197960265728', '[U:1:0]']],
    ['beyond the last account', ['76561202255233024', '[U:1:4294967296]', '1e17', '0x110000100000001']],
    ['of the wrong length', ['', '7656119800000000', '765611980000000011']],
    ['of another universe or kind', ['STEAM_2:1:1', 'STEAM_0:2:1', '[G:1:4]']],
    ['with half of its brackets', ['U:1:39734273', '[U:1:39734273', 'U:1:39734273]']],
    [
      'behind something',
      ['x76561198000000001', ' 76561198000000001', 'xSTEAM_0:1:19867136', 'x[U:1:39734273]'],
    ],
    ['behind a space', [' STEAM_0:1:19867136']],
    ['before something', ['76561198000000001x', 'STEAM_0:1:19867136x', '[U:1:39734273]x']],
    ['before white space', ['76561198000000001 ', '76561198000000001\n', '[U:1:39734273]\n']],
    ['of a bot', ['BOT', 'STEAM_ID_PENDING']],
    ['in other digits', ['７６５６１１９８０００００００１']],
  ])('refuses a SteamID %s and says what is allowed: %j', (_, texts) => {
    for (const text of texts) {
      expect(() => parseSteamId(text)).toThrow(InvalidInput);
      expect(() => parseSteamId(text)).toThrow('STEAM_X:Y:Z');
      expect([text, tryParseSteamId(text)]).toEqual([text, undefined]);
    }
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

const ALA = parseSteamId('76561198000000001');

describe('tryParsePersonReference', () => {
  test.each([
    '76561198000000001',
    ' STEAM_0:1:19867136\n',
    '[U:1:39734273]',
    'U:1:39734273',
    'u:1:39734273',
    'https://steamcommunity.com/profiles/76561198000000001',
    '<https://steamcommunity.com/profiles/[U:1:39734273]/>',
  ])('reads %p as the SteamID', (text) => {
    expect(tryParsePersonReference(text)).toEqual({ steamId64: ALA });
  });

  test.each([
    ['39734273', { accountOf: ALA }],
    [' 1 ', { accountOf: parseSteamId('[U:1:1]') }],
    ['4294967295', { accountOf: parseSteamId('[U:1:4294967295]') }],
    ['80351110224678912', { discordId: '80351110224678912' }],
    ['<@80351110224678912>', { discordId: '80351110224678912' }],
    ['<@!80351110224678912>', { discordId: '80351110224678912' }],
    ['<@39734273>', { discordId: '39734273' }],
    ['@Rzeźnik', { discordName: 'Rzeźnik' }],
    ['@ a', { discordName: ' a' }],
    ['steamcommunity.com/id/ala', { vanityName: 'ala' }],
    [`steamcommunity.com/id/${'x'.repeat(32)}`, { vanityName: 'x'.repeat(32) }],
  ])('reads %p as %p', (text, reference) => {
    expect(tryParsePersonReference(text)).toEqual(reference);
  });

  test.each([
    ['no account', ['', '@', '0', '4294967296', '9999999999', '99999999999999999999', '[U:1:39734273']],
    ['no mention of a member', ['<@>', '<@&80351110224678912>', '<#80351110224678912>']],
    ['no address', ['x', 'x'.repeat(33), 'a.b'].map((name) => `steamcommunity.com/id/${name}`)],
    ['a name', ['Rzeźnik', 'a@b', '1999 r.', '１２３']],
  ])('leaves what is %s to the names: %j', (_, texts) => {
    for (const text of texts) expect([text, tryParsePersonReference(text)]).toEqual([text, undefined]);
  });
});
