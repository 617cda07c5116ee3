import type { SKRSContext2D } from '@napi-rs/canvas';
import { font } from '../../src/drawing/canvas.ts';
import type { Localization } from '../locales/localization.ts';
import { type ChartRange, HEIGHT, INK, line, PLOT, type Scale, WIDTH } from './plot.ts';
import type { TimeLabels } from './time-labels.ts';

const QUARTER_OF_AN_HOUR_MS = 900_000;

/** Horizontal lines, with the number of players at every second one. */
export function drawGrid(context: SKRSContext2D, { y, top }: Scale): void {
  context.lineWidth = 2;
  context.strokeStyle = INK.grid;
  context.fillStyle = INK.faint;
  context.font = font(400, 24);
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (let step = 0; step <= 4; step++) {
    const players = (top / 4) * step;
    line(context, PLOT.left, y(players), PLOT.right, y(players));
    if (step % 2 === 0) context.fillText(String(players), PLOT.left - 12, y(players));
  }
}

/**
 * Vertical lines at every fourth hour of the reader's time zone, with the name of the day at midnight, and the name of the
 * time zone in the lower corner. Time zone offsets are multiples of 15 minutes, so each quarter of an hour is tried.
 */
export function drawHours(
  context: SKRSContext2D,
  { x: toX }: Scale,
  { from, to }: ChartRange,
  { timeZone }: Localization,
  labels: TimeLabels,
): void {
  const parts = new Intl.DateTimeFormat('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone,
  });
  const zoneEnd = drawZone(context, labels.zone);
  context.font = font(400, 24);
  context.textAlign = 'center';
  context.textBaseline = 'top';
  const first = Math.ceil(from.getTime() / QUARTER_OF_AN_HOUR_MS) * QUARTER_OF_AN_HOUR_MS;
  for (let at = first; at <= to.getTime(); at += QUARTER_OF_AN_HOUR_MS) {
    const [hour = 0, minute = 0] = parts.format(at).split(':').map(Number);
    if (minute !== 0 || hour % 4 !== 0) continue;
    const x = toX(at);
    context.strokeStyle = INK.grid;
    context.lineWidth = hour === 0 ? 3 : 1.5;
    line(context, x, PLOT.top, x, PLOT.bottom + 6);
    const label = hour === 0 ? labels.day(at) : labels.hour(at);
    const halfWidth = context.measureText(label).width / 2;
    if (x - halfWidth < zoneEnd + 8) continue;
    context.fillStyle = hour === 0 ? INK.text : INK.faint;
    context.fillText(label, Math.min(x, WIDTH - halfWidth - 8), PLOT.bottom + 14);
  }
}

/** @returns where the name of the time zone ends. */
function drawZone(context: SKRSContext2D, zone: string): number {
  const left = 10;
  context.font = font(400, 20);
  context.textAlign = 'left';
  context.textBaseline = 'middle';
  context.fillStyle = INK.faint;
  context.fillText(zone, left, HEIGHT - 14);
  return left + context.measureText(zone).width;
}

/** The headline with capacity and peak. */
export function drawHeadline(
  context: SKRSContext2D,
  { capacity, peak }: { capacity: number; peak: number },
  { texts }: Localization,
): void {
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  context.font = font(600, 26);
  context.fillStyle = INK.text;
  context.fillText(texts.chart.title, 20, 34);
  context.textAlign = 'right';
  context.font = font(400, 24);
  context.fillStyle = INK.line;
  const peakLabel = texts.chart.peak(peak);
  context.fillText(peakLabel, PLOT.right, 34);
  if (capacity > 0) {
    const x = PLOT.right - context.measureText(peakLabel).width - 24;
    context.fillStyle = INK.capacity;
    context.fillText(`${texts.chart.capacity} ${capacity}`, x, 34);
  }
}
