import { describe, expect, test } from 'bun:test';
import { en } from '../../../bot/locales/en.ts';
import { localizationOf } from '../../../bot/locales/localization.ts';
import { pl } from '../../../bot/locales/pl.ts';

describe('plural forms', () => {
  test.each([
    [0, '0 bans', '0 banów'],
    [1, '1 ban', '1 ban'],
    [2, '2 bans', '2 bany'],
    [4, '4 bans', '4 bany'],
    [5, '5 bans', '5 banów'],
    [12, '12 bans', '12 banów'],
    [21, '21 bans', '21 banów'],
    [22, '22 bans', '22 bany'],
    [112, '112 bans', '112 banów'],
    [1002, '1,002 bans', '1002 bany'],
  ])('%d', (amount, english, polish) => {
    expect(en.record.count('ban', amount)).toBe(english);
    expect(pl.record.count('ban', amount)).toBe(polish);
  });

  test.each([
    [0, '0 minutes', '0 minut'],
    [1, '1 minute', '1 minuta'],
    [2, '2 minutes', '2 minuty'],
    [22, '22 minutes', '22 minuty'],
    [45, '45 minutes', '45 minut'],
    [60, '1 hour', '1 godzina'],
    [90, '1 hour, 30 minutes', '1 godzina i 30 minut'],
    [180, '3 hours', '3 godziny'],
    [1440, '1 day', '1 dzień'],
    [4320, '3 days', '3 dni'],
    [43_200, '30 days', '30 dni'],
    [20_160 + 61, '14 days, 1 hour', '14 dni i 1 godzina'],
    [1440 + 5, '1 day, 5 minutes', '1 dzień i 5 minut'],
    [364 * 1440, '364 days', '364 dni'],
    [365 * 1440, '1 year', '1 rok'],
    [3 * 365 * 1440 - 1, '2 years, 364 days', '2 lata i 364 dni'],
  ])('a duration of %d minutes', (minutes, english, polish) => {
    expect(en.record.durationInWords(minutes)).toBe(english);
    expect(pl.record.durationInWords(minutes)).toBe(polish);
  });

  test('players and servers', () => {
    expect([1, 2, 5].map(en.server.playerCount)).toEqual(['1 player', '2 players', '5 players']);
    expect([1, 2, 5].map(pl.server.playerCount)).toEqual(['1 gracz', '2 graczy', '5 graczy']);
  });
});

test('Polish leaves nothing in English', () => {
  const same: string[] = [];
  const compare = (english: unknown, polish: unknown, path: string) => {
    if (typeof english === 'string') {
      if (english === polish) same.push(`${path}: ${english}`);
    } else if (
      typeof english === 'object' &&
      english !== null &&
      typeof polish === 'object' &&
      polish !== null
    ) {
      for (const [key, value] of Object.entries(english))
        compare(value, Reflect.get(polish, key), `${path}.${key}`);
    }
  };
  compare(en, pl, '');
  // Words that both languages share.
  expect(same.map((line) => line.split(': ')[1])).toEqual([
    'steamid',
    'steamid',
    'Region',
    'Offline',
    'offline',
    'Ban',
    'Admin',
    'SteamID64',
    'Discord',
    'SVIP',
    'Premium',
  ]);
});

test('every locale of Discord has a language, Polish only for pl', () => {
  expect(localizationOf('pl')).toEqual({ language: 'pl', texts: pl, intl: 'pl' });
  for (const locale of ['en-US', 'en-GB', 'uk', 'klingon', '__proto__'])
    expect(localizationOf(locale)).toEqual({ language: 'en', texts: en, intl: 'en-GB' });
});
