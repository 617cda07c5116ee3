import { drawPng } from '../../src/drawing/canvas.ts';
import type { HistoryPoint } from '../../src/queries/servers/samples.ts';
import { localizationOf } from '../locales/localization.ts';
import { drawGrid, drawHeadline, drawHours } from './axes.ts';
import { type ChartRange, createScale, HEIGHT, INK, WIDTH } from './plot.ts';
import { drawCapacity, drawOffline, drawPlayers } from './series.ts';
import { createTimeLabels } from './time-labels.ts';

/** The minimum upper bound of the player axis, so that it is not 0 for an empty server. */
const MIN_TOP = 4;

export type PlayerChart = {
  /** Oldest first; steps without a poll are missing. */
  points: readonly HistoryPoint[];
  range: ChartRange;
  /** Discord's code, such as `en-GB`. */
  locale: string;
};

/** @returns a PNG. */
export type DrawChart = (chart: PlayerChart) => Promise<Uint8Array>;

/** Draws the players of one server over time as a PNG, with the capacity, and gaps where it was offline or not polled. */
export async function drawPlayerChart({ points, range, locale }: PlayerChart): Promise<Uint8Array> {
  const localization = localizationOf(locale);
  const labels = createTimeLabels(localization);
  const capacity = Math.max(0, ...points.map(({ maxPlayers }) => maxPlayers));
  const peak = Math.max(0, ...points.map(({ playersMaximum }) => playersMaximum));
  const scale = createScale(range, Math.max(capacity, peak, MIN_TOP));
  const series = { points, stepSeconds: range.stepSeconds };
  return drawPng({ width: WIDTH, height: HEIGHT }, (context) => {
    context.fillStyle = INK.background;
    context.beginPath();
    context.roundRect(0, 0, WIDTH, HEIGHT, 16);
    context.fill();
    drawGrid(context, scale);
    drawOffline(context, scale, series, localization.texts.chart.offline);
    drawHours(context, scale, range, localization, labels);
    if (capacity > 0) drawCapacity(context, scale, capacity);
    drawPlayers(context, scale, series);
    drawHeadline(context, { capacity, peak }, localization);
  });
}
