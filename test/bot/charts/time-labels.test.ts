import { expect, test } from 'bun:test';
import { Locale } from 'discord.js';
import { createTimeLabels } from '../../../bot/charts/time-labels.ts';
import { localizationOf } from '../../../bot/locales/localization.ts';
import { toDrawable } from '../../../src/drawing/text.ts';

const MONDAY = Date.UTC(2026, 10, 23);
const HOUR_MS = 3_600_000;

test.each(Object.values(Locale))('in %s every label has glyphs, and each hour and day its own', (locale) => {
  const { hour, day, zone } = createTimeLabels(localizationOf(locale));
  const hours = Array.from({ length: 24 }, (_, index) => hour(MONDAY + index * HOUR_MS));
  const days = Array.from({ length: 7 }, (_, index) => day(MONDAY + index * 24 * HOUR_MS));
  for (const label of [...hours, ...days, zone]) expect(toDrawable(label, '')).toBe(label);
  expect(new Set(hours).size).toBe(24);
  expect(new Set(days).size).toBe(7);
});

test('labels are in the language of the reader, or all in English where one has no glyphs', () => {
  const labelsIn = (locale: string) => {
    const { hour, day, zone } = createTimeLabels(localizationOf(locale));
    return [hour(MONDAY + 6 * HOUR_MS), day(MONDAY), zone];
  };
  expect(labelsIn('en-US')).toEqual(['6 AM', 'Mon', 'UTC']);
  expect(labelsIn('ru')).toEqual(['9:00', 'пн', 'GMT+3']);
  expect(labelsIn('ja')).toEqual(['15:00', 'Mon', 'GMT+9']);
  expect(labelsIn('hi')).toEqual(['11:30', 'Mon', 'GMT+5:30']);
});
