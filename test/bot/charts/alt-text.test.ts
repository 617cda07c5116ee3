import { expect, test } from 'bun:test';
import { chartFacts } from '../../../bot/charts/alt-text.ts';
import { localizationOf } from '../../../bot/locales/localization.ts';
import { SAMPLE_HISTORY as points } from '../../support/bot/history.ts';

test('says the peak, its time in the zone of the locale, and the average of all polls', () => {
  expect(chartFacts(points, localizationOf('pl'))).toEqual({
    peak: '14 graczy',
    peakAt: '13:00 CET',
    average: '10,9',
    gaps: true,
  });
  expect(chartFacts(points, localizationOf('en-US'))).toMatchObject({
    peak: '14 players',
    peakAt: '12:00 PM UTC',
  });
  expect(chartFacts([], localizationOf('en-US'))).toEqual({
    peak: '0 players',
    peakAt: '–',
    average: '0',
    gaps: false,
  });
});
