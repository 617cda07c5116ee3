import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Canvas, SKRSContext2D } from '@napi-rs/canvas';
import type { HistoryPoint } from '../src/queries/servers.ts';
import type { Localization } from './locales/localization.ts';

/** Twice the width at which Discord shows an embed's image, so that it stays sharp. */
const WIDTH = 800;
const HEIGHT = 360;
const PLOT = { left: 64, top: 64, right: 776, bottom: 312 };
const FONT = 'ChartLatin, ChartLatinExt';
/** An opaque card of its own: the same picture has to read on Discord's dark and light themes. */
const INK = {
  background: '#1e1f26',
  grid: '#3a3c47',
  text: '#f2f3f5',
  faint: '#b5bac1',
  line: '#57d38c',
  capacity: '#f0b232',
  offline: '#ed4245',
} as const;

export type ChartRange = { from: Date; to: Date; stepSeconds: number };

/**
 * Draws a day of players on one server as a PNG: their number, the capacity, gaps where it was offline or not asked.
 * @param points oldest first, of the steps that were polled.
 */
export async function drawPlayerChart(
  points: readonly HistoryPoint[],
  { from, to, stepSeconds }: ChartRange,
  localization: Localization,
): Promise<Uint8Array> {
  const before = lastDrawing;
  const { promise, resolve } = Promise.withResolvers<void>();
  lastDrawing = promise;
  await before;
  try {
    return await drawOnSheet(points, { from, to, stepSeconds }, localization);
  } finally {
    resolve();
  }
}

/** Charts are drawn one after another. */
let lastDrawing: Promise<void> = Promise.resolve();
/** One canvas for all charts: its pixels lie outside the heap, and the collector would let many of them pile up. */
let sheet: Canvas | undefined;

/**
 * The program that draws takes some 30 MB: it is loaded for the first chart. It brings no fonts of its own, and a bare
 * machine has none: Inter comes as a package.
 */
async function openSheet(): Promise<Canvas> {
  const { createCanvas, GlobalFonts } = await import('@napi-rs/canvas');
  const require = createRequire(import.meta.url);
  for (const [subset, family] of [
    ['latin', 'ChartLatin'],
    ['latin-ext', 'ChartLatinExt'],
  ]) {
    for (const weight of [400, 600]) {
      const file = require.resolve(`@fontsource/inter/files/inter-${subset}-${weight}-normal.woff2`);
      GlobalFonts.register(await readFile(file), family);
    }
  }
  return createCanvas(WIDTH, HEIGHT);
}

async function drawOnSheet(
  points: readonly HistoryPoint[],
  { from, to, stepSeconds }: ChartRange,
  localization: Localization,
): Promise<Uint8Array> {
  sheet ??= await openSheet();
  const context = sheet.getContext('2d');
  context.clearRect(0, 0, WIDTH, HEIGHT);
  const capacity = Math.max(0, ...points.map(({ maxPlayers }) => maxPlayers));
  const peak = Math.max(0, ...points.map(({ playersMaximum }) => playersMaximum));
  const top = niceTop(Math.max(capacity, peak, 4));
  const scale: Scale = {
    x: (at) =>
      PLOT.left + ((at - from.getTime()) / (to.getTime() - from.getTime())) * (PLOT.right - PLOT.left),
    y: (players) => PLOT.bottom - (players / top) * (PLOT.bottom - PLOT.top),
  };
  context.fillStyle = INK.background;
  context.beginPath();
  context.roundRect(0, 0, WIDTH, HEIGHT, 16);
  context.fill();
  drawGrid(context, scale, top);
  drawOffline(
    context,
    scale,
    toStretches(points, stepSeconds * 1000, (point) => point.onlineShare === 0),
    stepSeconds,
    localization,
  );
  drawHours(context, scale, { from, to }, localization);
  if (capacity > 0) drawCapacity(context, scale, capacity);
  drawPlayers(
    context,
    scale,
    toStretches(points, stepSeconds * 1000, (point) => point.onlineShare > 0),
    stepSeconds,
  );
  drawHead(context, { capacity, peak }, localization);
  return sheet.encode('png');
}

/** Numbers for the alt text. */
export function chartFacts(points: readonly HistoryPoint[], localization: Localization) {
  const online = points.filter(({ onlineShare }) => onlineShare > 0);
  const highest = online.reduce<HistoryPoint | undefined>(
    (best, point) => (best && best.playersMaximum >= point.playersMaximum ? best : point),
    undefined,
  );
  const average =
    online.reduce((sum, { playersAverage }) => sum + playersAverage, 0) / Math.max(1, online.length);
  const time = new Intl.DateTimeFormat(localization.locale, {
    hour: 'numeric',
    minute: '2-digit',
    timeZone: localization.timeZone,
    timeZoneName: 'short',
  });
  return {
    peak: localization.texts.server.playerCount(highest?.playersMaximum ?? 0),
    peakAt: highest ? time.format(highest.at) : '–',
    average: new Intl.NumberFormat(localization.locale, { maximumFractionDigits: 1 }).format(average),
    gaps: online.length < points.length,
  };
}

type Scale = { x: (at: number) => number; y: (players: number) => number };

/** Points next to each other that satisfy a condition, without a step missing in between. */
function toStretches(
  points: readonly HistoryPoint[],
  stepMs: number,
  belongs: (point: HistoryPoint) => boolean,
): HistoryPoint[][] {
  const stretches: HistoryPoint[][] = [];
  let last: HistoryPoint | undefined;
  for (const point of points) {
    if (!belongs(point)) {
      last = undefined;
      continue;
    }
    // One missing step is a hiccup of the poller, not a gap.
    const continues = last !== undefined && point.at.getTime() - last.at.getTime() <= 2 * stepMs;
    if (continues) stretches.at(-1)?.push(point);
    else stretches.push([point]);
    last = point;
  }
  return stretches;
}

function drawGrid(context: SKRSContext2D, scale: Scale, top: number): void {
  context.lineWidth = 2;
  context.strokeStyle = INK.grid;
  context.fillStyle = INK.faint;
  context.font = `400 24px ${FONT}`;
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (let step = 0; step <= 4; step++) {
    const players = (top / 4) * step;
    line(context, PLOT.left, scale.y(players), PLOT.right, scale.y(players));
    if (step % 2 === 0) context.fillText(String(players), PLOT.left - 12, scale.y(players));
  }
}

/** The hours that four-hour steps of the reader's clock fall on; midnight names the day. */
function drawHours(
  context: SKRSContext2D,
  scale: Scale,
  { from, to }: { from: Date; to: Date },
  localization: Localization,
): void {
  const { locale, timeZone } = localization;
  const parts = new Intl.DateTimeFormat('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone,
  });
  const hours = new Intl.DateTimeFormat(locale, { hour: 'numeric', timeZone });
  const clock = new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit', timeZone });
  const days = new Intl.DateTimeFormat(locale, { weekday: 'short', timeZone });
  const is12Hour = hours.resolvedOptions().hour12 === true;
  context.textAlign = 'center';
  context.textBaseline = 'top';
  const quarter = 900_000;
  for (let at = Math.ceil(from.getTime() / quarter) * quarter; at <= to.getTime(); at += quarter) {
    const [hour = 0, minute = 0] = parts.format(at).split(':').map(Number);
    if (minute !== 0 || hour % 4 !== 0) continue;
    const x = scale.x(at);
    context.strokeStyle = INK.grid;
    context.lineWidth = hour === 0 ? 3 : 1.5;
    line(context, x, PLOT.top, x, PLOT.bottom + 6);
    const label = hour === 0 ? days.format(at) : is12Hour ? hours.format(at) : clock.format(at);
    const halfWidth = context.measureText(label).width / 2;
    context.fillStyle = hour === 0 ? INK.text : INK.faint;
    context.fillText(label, Math.min(Math.max(x, halfWidth + 8), WIDTH - halfWidth - 8), PLOT.bottom + 14);
  }
}

function drawCapacity(context: SKRSContext2D, scale: Scale, capacity: number): void {
  context.strokeStyle = INK.capacity;
  context.lineWidth = 2.5;
  context.setLineDash([10, 8]);
  line(context, PLOT.left, scale.y(capacity), PLOT.right, scale.y(capacity));
  context.setLineDash([]);
}

function drawPlayers(
  context: SKRSContext2D,
  scale: Scale,
  stretches: HistoryPoint[][],
  stepSeconds: number,
): void {
  const halfStep = stepSeconds * 500;
  for (const stretch of stretches) {
    const [first, last] = [stretch[0], stretch.at(-1)];
    if (!first || !last) continue;
    const start = scale.x(first.at.getTime());
    const end = scale.x(last.at.getTime() + 2 * halfStep);
    const path = () => {
      context.lineTo(start, scale.y(first.playersAverage));
      for (const point of stretch)
        context.lineTo(scale.x(point.at.getTime() + halfStep), scale.y(point.playersAverage));
      context.lineTo(end, scale.y(last.playersAverage));
    };
    context.beginPath();
    context.moveTo(start, scale.y(0));
    path();
    context.lineTo(end, scale.y(0));
    context.closePath();
    context.fillStyle = 'rgba(87, 211, 140, 0.25)';
    context.fill();
    context.beginPath();
    path();
    context.strokeStyle = INK.line;
    context.lineWidth = 4;
    context.lineJoin = 'round';
    context.stroke();
  }
}

function drawOffline(
  context: SKRSContext2D,
  scale: Scale,
  stretches: HistoryPoint[][],
  stepSeconds: number,
  { texts }: Localization,
): void {
  for (const stretch of stretches) {
    const [first, last] = [stretch[0], stretch.at(-1)];
    if (!first || !last) continue;
    const left = scale.x(first.at.getTime());
    const right = scale.x(last.at.getTime() + stepSeconds * 1000);
    context.fillStyle = 'rgba(237, 66, 69, 0.22)';
    context.fillRect(left, PLOT.top, right - left, PLOT.bottom - PLOT.top);
    context.fillStyle = INK.offline;
    context.fillRect(left, PLOT.bottom - 4, right - left, 4);
    context.font = `600 22px ${FONT}`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    const isWideEnough = context.measureText(texts.chart.offline).width + 12 <= right - left;
    if (isWideEnough) context.fillText(texts.chart.offline, (left + right) / 2, (PLOT.top + PLOT.bottom) / 2);
  }
  context.font = `400 24px ${FONT}`;
}

function drawHead(
  context: SKRSContext2D,
  { capacity, peak }: { capacity: number; peak: number },
  { texts, locale, timeZone }: Localization,
): void {
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  context.font = `600 26px ${FONT}`;
  context.fillStyle = INK.text;
  context.fillText(texts.chart.title, 20, 34);
  context.textAlign = 'right';
  context.font = `400 24px ${FONT}`;
  context.fillStyle = INK.line;
  const peakLabel = texts.chart.peak(peak);
  context.fillText(peakLabel, PLOT.right, 34);
  if (capacity > 0) {
    context.fillStyle = INK.capacity;
    context.fillText(
      `${texts.chart.capacity} ${capacity}`,
      PLOT.right - context.measureText(peakLabel).width - 24,
      34,
    );
  }
  context.fillStyle = INK.faint;
  context.textAlign = 'left';
  context.font = `400 20px ${FONT}`;
  context.fillText(zoneName(locale, timeZone), 10, HEIGHT - 14);
}

function zoneName(locale: string, timeZone: string): string {
  const parts = new Intl.DateTimeFormat(locale, { timeZone, timeZoneName: 'short' }).formatToParts(
    new Date(),
  );
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? timeZone;
}

/** A round number above, that four steps divide into whole players. */
function niceTop(players: number): number {
  const steps = [4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 100, 128, 160, 200, 256];
  return steps.find((step) => step >= players) ?? Math.ceil(players / 100) * 100;
}

function line(context: SKRSContext2D, x1: number, y1: number, x2: number, y2: number): void {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
