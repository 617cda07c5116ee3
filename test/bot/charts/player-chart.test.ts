import { expect, spyOn, test } from 'bun:test';
import type { SKRSContext2D } from '@napi-rs/canvas';
import { Locale } from 'discord.js';
import { drawPlayerChart } from '../../../bot/charts/player-chart.ts';
import { drawPng } from '../../../src/drawing/canvas.ts';
import { SAMPLE_HISTORY as points, SAMPLE_RANGE as range } from '../../support/bot/history.ts';
import { type Colour, toPixels } from '../../support/bot/pixels.ts';

const xOf = (hour: number) => Math.round(64 + (hour / 24) * (776 - 64));
const LINE: Colour = [0x57, 0xd3, 0x8c];
const OFFLINE: Colour = [0xed, 0x42, 0x45];

test('draws a line where the server was online, a mark where it was offline, nothing where it was not polled', async () => {
  const pixels = await toPixels(await drawPlayerChart({ points, range, locale: 'pl' }));
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

test('drawn at the same time in two languages, neither gets the other', async () => {
  const alone = await drawPlayerChart({ points, range, locale: 'pl' });
  const [polish, english] = await Promise.all([
    drawPlayerChart({ points, range, locale: 'pl' }),
    drawPlayerChart({ points, range, locale: 'en-US' }),
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
      points: [
        { ...first, ...changed },
        { ...first, ...changed, at: new Date(first.at.getTime() + 3_600_000) },
      ],
      range,
      locale: 'en-GB',
    });
    expect(png.length).toBeGreaterThan(1000);
  }
});

test.each(['en-US', 'pl', 'ru', 'el', 'vi', 'hi', 'th', 'zh-CN', 'zh-TW', 'ja', 'ko'])(
  'in %s a Saturday can be told from a Monday',
  async (locale) => {
    const chart = (day: number) => {
      const to = new Date(Date.UTC(2026, 10, day, 8));
      const since = new Date(to.getTime() - 86_400_000);
      return drawPlayerChart({
        points: Array.from({ length: 288 }, (_, step) => ({
          at: new Date(since.getTime() + step * 300_000),
          polledSeconds: 300,
          playersAverage: 10,
          playersMaximum: 12,
          maxPlayers: 32,
          onlineShare: 1,
        })),
        range: { from: since, to, stepSeconds: 300 },
        locale,
      });
    };
    const saturday = Buffer.from(await chart(21));
    expect(saturday.equals(Buffer.from(await chart(23)))).toBe(false);
  },
);

test.each(Object.values(Locale))(
  'in %s no text is written over another, whatever the time',
  async (locale) => {
    for (let minutes = 0; minutes < 240; minutes += 15) {
      const to = new Date(range.to.getTime() + minutes * 60_000);
      const from = new Date(range.from.getTime() + minutes * 60_000);
      const texts = await listTexts(() => drawPlayerChart({ points, range: { ...range, from, to }, locale }));
      expect(texts.length).toBeGreaterThan(10);
      for (const [index, text] of texts.entries()) {
        const covered = texts.slice(0, index).filter((other) => overlaps(text, other));
        expect([to, text.text, covered]).toEqual([to, text.text, []]);
      }
    }
  },
);

type Text = { text: string; left: number; right: number; top: number; bottom: number };

/** The texts that are written while this draws, with the pixels that they take. */
async function listTexts(draw: () => Promise<unknown>): Promise<Text[]> {
  let prototype: SKRSContext2D | undefined;
  await drawPng({ width: 1, height: 1 }, (context) => {
    prototype = Object.getPrototypeOf(context);
  });
  if (!prototype) throw new Error('nothing was drawn');
  const texts: Text[] = [];
  const write = prototype.fillText;
  const spy = spyOn(prototype, 'fillText').mockImplementation(function (this: SKRSContext2D, text, x, y) {
    const box = this.measureText(text);
    texts.push({
      text,
      left: x - box.actualBoundingBoxLeft,
      right: x + box.actualBoundingBoxRight,
      top: y - box.actualBoundingBoxAscent,
      bottom: y + box.actualBoundingBoxDescent,
    });
    write.call(this, text, x, y);
  });
  await draw().finally(() => spy.mockRestore());
  return texts;
}

function overlaps(one: Text, other: Text): boolean {
  const isBeside = one.right <= other.left || other.right <= one.left;
  return !isBeside && one.top < other.bottom && other.top < one.bottom;
}
