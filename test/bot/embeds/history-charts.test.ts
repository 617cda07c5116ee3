import { expect, test } from 'bun:test';
import pino from 'pino';
import { chartFacts, createHistoryCharts } from '../../../bot/embeds/history-charts.ts';
import { localizationOf } from '../../../bot/locales/localization.ts';
import { SAMPLE_HISTORY as points, SAMPLE_RANGE } from '../../support/bot/history.ts';

const polish = localizationOf('pl');

function openCharts(failures: number) {
  let drawn = 0;
  const chartOf = createHistoryCharts({
    readHistory: async () => ({ points: [...points], stepSeconds: 300, readAt: SAMPLE_RANGE.to }),
    drawChart: async () => {
      drawn += 1;
      if (drawn <= failures) throw new Error('the library failed');
      return new Uint8Array([drawn]);
    },
    timeZone: 'UTC',
    log: pino({ level: 'silent' }),
  });
  return { chartOf, countDrawn: () => drawn };
}

test('a chart is drawn once for each language until the history is read again', async () => {
  const { chartOf, countDrawn } = openCharts(0);
  await Promise.all([chartOf(1, polish), chartOf(1, polish)]);
  await chartOf(1, polish);
  expect(countDrawn()).toBe(1);
  await chartOf(1, localizationOf('en-US'));
  await chartOf(2, polish);
  expect(countDrawn()).toBe(3);
});

test('a chart that could not be drawn is left out, and drawn for the next card', async () => {
  const { chartOf } = openCharts(1);
  expect(await chartOf(1, polish)).toBeUndefined();
  expect(await chartOf(1, polish)).toMatchObject({ name: 'players.png', bytes: new Uint8Array([2]) });
});

test('says the peak, its time in the time zone, and the average of all polls', () => {
  expect(chartFacts(points, localizationOf('pl'), 'Europe/Warsaw')).toEqual({
    peak: '14 graczy',
    peakAt: '13:00 CET',
    average: '10,9',
    gaps: true,
  });
  expect(chartFacts(points, localizationOf('en-US'), 'UTC')).toMatchObject({
    peak: '14 players',
    peakAt: '12:00 UTC',
  });
  expect(chartFacts([], localizationOf('en-US'), 'UTC')).toEqual({
    peak: '0 players',
    peakAt: '–',
    average: '0',
    gaps: false,
  });
});
