import { expect, test } from 'bun:test';
import { localizationOf } from '../../../bot/locales/localization.ts';
import { drawPlayerChart, type PlayerChart, PlayerChartElements } from '../../../src/charts/player-chart.tsx';
import { loadMeasure } from '../../../src/charts/raster.ts';
import { toDrawable } from '../../../src/charts/text.ts';
import { listLanguages } from '../../../src/domain/language.ts';
import { SAMPLE_HISTORY as points, SAMPLE_RANGE as range } from '../../support/bot/history.ts';
import { type Colour, isNear, toPixels } from '../../support/pixels.ts';

const measure = await loadMeasure();
const xOf = (hour: number) => Math.round(64 + (hour / 24) * (776 - 64));
const aChart = (locale: string, timeZone = 'UTC'): PlayerChart => {
  const { intl, texts } = localizationOf(locale);
  return { points, range, words: texts.chart, intl, timeZone };
};
const LINE: Colour = [0x57, 0xd3, 0x8c];
const OFFLINE: Colour = [0xed, 0x42, 0x45];

test('draws a line where the server was online, a mark where it was offline, nothing where it was not polled', async () => {
  const pixels = toPixels(await drawPlayerChart(aChart('pl')));
  expect([pixels.width, pixels.height]).toEqual([800, 360]);
  const hasColour = (x: number, colour: Colour) =>
    pixels.read(x, 66, 1, 248).some((each) => isNear(each, colour, 24));
  for (const hour of [2.5, 6.5, 13.3, 20.5]) {
    expect(hasColour(xOf(hour), LINE)).toBe(true);
    expect(hasColour(xOf(hour), OFFLINE)).toBe(false);
  }
  expect(hasColour(xOf(9.1), LINE)).toBe(false);
  expect(hasColour(xOf(9.1), OFFLINE)).toBe(true);
  expect(hasColour(xOf(17.1), LINE)).toBe(false);
  expect(hasColour(xOf(17.1), OFFLINE)).toBe(false);
});

test('charts drawn at the same time in two languages keep their own', async () => {
  const alone = await drawPlayerChart(aChart('pl'));
  const [polish, english] = await Promise.all([
    drawPlayerChart(aChart('pl')),
    drawPlayerChart(aChart('en-US')),
  ]);
  expect(Buffer.from(polish).equals(Buffer.from(alone))).toBe(true);
  expect(Buffer.from(polish).equals(Buffer.from(english))).toBe(false);
});

test('survives a server that is empty, full beyond its capacity, or has one point', async () => {
  const [first] = points;
  if (!first) throw new Error('no point');
  for (const changed of [
    { playersAverage: 0, playersMaximum: 0, maxPlayers: 0 },
    { playersAverage: 300, playersMaximum: 400 },
  ]) {
    const png = await drawPlayerChart({
      ...aChart('en-GB'),
      points: [
        { ...first, ...changed },
        { ...first, ...changed, at: new Date(first.at.getTime() + 3_600_000) },
      ],
    });
    expect(png.length).toBeGreaterThan(1000);
  }
});

/** One of each kind of name: a word, an offset, a long offset; and one with daylight saving time half an hour apart. */
const ZONES = ['UTC', 'Europe/Warsaw', 'America/Sao_Paulo', 'Asia/Kathmandu', 'Australia/Lord_Howe'];

test.each(listLanguages().flatMap((locale) => ZONES.map((zone) => [locale, zone] as const)))(
  'every label in %s and %s has glyphs and covers no other at any time',
  (locale, zone) => {
    for (let minutes = 0; minutes < 240; minutes += 15) {
      const to = new Date(range.to.getTime() + minutes * 60_000);
      const from = new Date(range.from.getTime() + minutes * 60_000);
      const texts = listTexts({ ...aChart(locale, zone), range: { ...range, from, to } });
      expect(texts.length).toBeGreaterThan(10);
      for (const [index, text] of texts.entries()) {
        expect(toDrawable(text.text, '')).toBe(text.text);
        const covered = texts.slice(0, index).filter((other) => overlaps(text, other));
        expect([to, text.text, covered]).toEqual([to, text.text, []]);
      }
    }
  },
);

type Text = { text: string; left: number; right: number; top: number; bottom: number };

/** The texts of a picture with the pixels that they take, as far as letters reach: from capitals to descenders. */
function listTexts(chart: PlayerChart): Text[] {
  const svg = String(PlayerChartElements({ ...chart, measure }));
  const plotEnd = svg.indexOf('</g>');
  return [...svg.matchAll(/<text ([^>]*)>([^<]*)</g)].map(({ 1: attributes = '', 2: text = '', index }) => {
    const read = (name: string) => RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? '';
    const size = Number(read('font-size'));
    const width = measure(text, { size, weight: read('font-weight') === '600' ? 600 : 400 });
    const share = ['', 'middle', 'end'].indexOf(read('text-anchor')) / 2;
    const offset = index < plotEnd ? 64 : 0;
    const [left, bottom] = [Number(read('x')) + offset - width * share, Number(read('y')) + offset];
    return { text, left, right: left + width, top: bottom - 0.75 * size, bottom: bottom + 0.25 * size };
  });
}

function overlaps(one: Text, other: Text): boolean {
  const isBeside = one.right <= other.left || other.right <= one.left;
  return !isBeside && one.top < other.bottom && other.top < one.bottom;
}

test.each([
  ['en-US', 'UTC', 'UTC', 'Sat', '4:00'],
  ['pl', 'Europe/Warsaw', 'CET', 'sob.', '4:00'],
  ['en-GB', 'Asia/Tokyo', 'GMT+9', 'Sat', '20:00'],
])('labels in %s and %s have the language and the time zone of the chart', (locale, zone, ...labels) => {
  const texts = listTexts(aChart(locale, zone)).map(({ text }) => text);
  expect(texts).toEqual(expect.arrayContaining(labels));
});
