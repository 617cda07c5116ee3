import { expect, test } from 'bun:test';
import { createCanvas, loadImage } from '@napi-rs/canvas';
import { chartFacts, drawPlayerChart } from '../../bot/charts.ts';
import { localizationOf } from '../../bot/locales/localization.ts';
import type { HistoryPoint } from '../../src/queries/servers.ts';

const to = new Date('2026-11-21T12:00:00Z');
const from = new Date(to.getTime() - 86_400_000);
const range = { from, to, stepSeconds: 300 };
const HOUR = 3_600_000;

/** Twelve players all day; offline from hour 8 to 10, not polled from hour 16 to 18. */
const points: HistoryPoint[] = Array.from({ length: 288 }, (_, step) => step)
  .filter((step) => step < 192 || step >= 216)
  .map((step) => {
    const isOnline = step < 96 || step >= 120;
    return {
      at: new Date(from.getTime() + step * 300_000),
      periodSeconds: 300,
      playersAverage: isOnline ? 12 : 0,
      playersMaximum: isOnline ? 14 : 0,
      maxPlayers: 32,
      onlineShare: isOnline ? 1 : 0,
    };
  });

async function toPixels(png: Uint8Array) {
  const image = await loadImage(png);
  const context = createCanvas(image.width, image.height).getContext('2d');
  context.drawImage(image, 0, 0);
  return {
    width: image.width,
    height: image.height,
    /** Whether a colour occurs in a column of the plot. */
    hasColour: (x: number, [red, green, blue]: [number, number, number]) => {
      const { data } = context.getImageData(x, 66, 1, 248);
      for (let at = 0; at < data.length; at += 4) {
        const isNear = [red, green, blue].every(
          (value, index) => Math.abs((data[at + index] ?? 0) - value) < 24,
        );
        if (isNear) return true;
      }
      return false;
    },
  };
}

const xOf = (hour: number) => Math.round(64 + (hour / 24) * (776 - 64));
const LINE: [number, number, number] = [0x57, 0xd3, 0x8c];
const OFFLINE: [number, number, number] = [0xed, 0x42, 0x45];

test('draws a line where the server was online, a mark where it was offline, nothing where nobody asked', async () => {
  const pixels = await toPixels(await drawPlayerChart(points, range, localizationOf('pl')));
  expect([pixels.width, pixels.height]).toEqual([800, 360]);
  for (const hour of [2.5, 6.5, 13.3, 20.5]) {
    expect(pixels.hasColour(xOf(hour), LINE)).toBe(true);
    expect(pixels.hasColour(xOf(hour), OFFLINE)).toBe(false);
  }
  expect(pixels.hasColour(xOf(9.1), LINE)).toBe(false);
  expect(pixels.hasColour(xOf(9.1), OFFLINE)).toBe(true);
  expect(pixels.hasColour(xOf(17.1), LINE)).toBe(false);
  expect(pixels.hasColour(xOf(17.1), OFFLINE)).toBe(false);
});

test('drawn at the same time for two readers, neither gets the other', async () => {
  const alone = await drawPlayerChart(points, range, localizationOf('pl'));
  const [polish, english] = await Promise.all([
    drawPlayerChart(points, range, localizationOf('pl')),
    drawPlayerChart(points, range, localizationOf('en-US')),
  ]);
  expect(Buffer.from(polish).equals(Buffer.from(alone))).toBe(true);
  expect(Buffer.from(polish).equals(Buffer.from(english))).toBe(false);
});

test('tells peak, its time in the zone of the reader, and the average while online', () => {
  expect(chartFacts(points, localizationOf('pl'))).toEqual({
    peak: '14 graczy',
    peakAt: '13:00 CET',
    average: '12',
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

test('survives a server that is empty, full beyond its capacity, or has one point', async () => {
  const [first] = points;
  if (!first) throw new Error('no point');
  for (const changed of [
    { playersAverage: 0, playersMaximum: 0, maxPlayers: 0 },
    { playersAverage: 300, playersMaximum: 400 },
  ]) {
    const png = await drawPlayerChart(
      [
        { ...first, ...changed },
        { ...first, ...changed, at: new Date(first.at.getTime() + HOUR) },
      ],
      range,
      localizationOf('en-GB'),
    );
    expect(png.length).toBeGreaterThan(1000);
  }
});
