import { describe, expect, test } from 'bun:test';
import { tryParsePersonReference } from '../../../src/domain/person-reference.ts';
import { parseSteamId } from '../../../src/domain/steam-id.ts';

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
  ])('reads %p as %p', (text, reference) => {
    expect(tryParsePersonReference(text)).toEqual(reference);
  });

  test.each([
    '',
    '@',
    '0',
    '4294967296',
    '9999999999',
    '99999999999999999999',
    '<@>',
    '<@&80351110224678912>',
    '<#80351110224678912>',
    'Rzeźnik',
    'a@b',
    '1999 r.',
    '[U:1:39734273',
    '１２３',
  ])('leaves %p to the names', (text) => {
    expect(tryParsePersonReference(text)).toBeUndefined();
  });
});
