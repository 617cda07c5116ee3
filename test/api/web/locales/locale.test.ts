import { describe, expect, test } from 'bun:test';
import { formatRelative } from '../../../../api/web/locales/locale.ts';
import { textsOf } from '../../../../api/web/locales/texts.ts';

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** The page's words for a moment `seconds` from now, or ago if negative. */
function inWords(seconds: number, language: 'en' | 'pl' = 'en'): string {
  const now = new Date('2026-11-21T10:00:00Z');
  return formatRelative(language, new Date(now.getTime() + seconds * 1000), now);
}

test('rounds a moment to the nearest whole unit: a new token for 90 days ends in 90', () => {
  expect([7, 30, 90, 365].map((days) => inWords(days * DAY - 0.4))).toEqual([
    'in 7 days',
    'in 30 days',
    'in 90 days',
    'in 1 year',
  ]);
  expect(inWords(90 * DAY - HOUR)).toBe('in 90 days');
  expect(inWords(90 * DAY - 13 * HOUR)).toBe('in 89 days');
  expect(inWords(90 * DAY - 1, 'pl')).toBe('za 90 dni');
});

test.each([
  [0, 'now'],
  [-59, 'now'],
  [-MINUTE, '1 minute ago'],
  [-59.6 * MINUTE, '1 hour ago'],
  [-3 * HOUR - 1, '3 hours ago'],
  [-(DAY - 1), '1 day ago'],
  [-12 * HOUR, '12 hours ago'],
  [36 * HOUR + 1, 'in 2 days'],
  [89 * DAY, 'in 89 days'],
  [120 * DAY, 'in 4 months'],
  [330 * DAY, 'in 11 months'],
  [364 * DAY, 'in 1 year'],
  [2 * 365 * DAY - 5, 'in 2 years'],
])('a moment in %d seconds in words: %s', (seconds, words) => {
  expect(inWords(seconds)).toBe(words);
});

describe('plural forms', () => {
  test.each([
    [0, '0 users', '0 użytkowników'],
    [1, '1 user', '1 użytkownik'],
    [2, '2 users', '2 użytkowników'],
  ])('%d users', (amount, english, polish) => {
    expect(textsOf('en').moderation.found(amount)).toBe(english);
    expect(textsOf('pl').moderation.found(amount)).toBe(polish);
  });

  test.each([
    [1, '1 sesja'],
    [2, '2 sesje'],
    [5, '5 sesji'],
    [21, '21 sesji'],
    [22, '22 sesje'],
  ])('%d sessions', (open, polish) => {
    expect(textsOf('pl').sessions.count(open)).toBe(polish);
  });

  test('the days that a session lasts agree with their number', () => {
    const days = { unused: 7, most: 60 };
    expect(textsOf('en').sessions.lead(days)).toContain(
      'ends automatically 7 days after your last visit, and 60 days after you signed in at the latest',
    );
    expect(textsOf('pl').sessions.lead(days)).toContain(
      'wygasa automatycznie 7 dni po ostatniej wizycie, a najpóźniej 60 dni po zalogowaniu',
    );
  });

  test('the seconds that are kept of a sound agree with their number', () => {
    const lead = (language: 'en' | 'pl', seconds: number) =>
      textsOf(language).roundSound.lead({ seconds, megabytes: 20 });
    expect(lead('en', 1)).toContain('We keep up to a second from the start');
    expect(lead('en', 10)).toContain('We keep up to 10 seconds from the start');
    expect(lead('pl', 1)).toContain('Bierzemy najwyżej sekundę od');
    expect(lead('pl', 2)).toContain('Bierzemy najwyżej 2 sekundy od');
    expect(lead('pl', 10)).toContain('Bierzemy najwyżej 10 sekund od');
    expect(lead('pl', 22)).toContain('Bierzemy najwyżej 22 sekundy od');
  });
});
