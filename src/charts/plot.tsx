import type { JSX } from 'hono/jsx/jsx-runtime';
import { DAY_MS } from '../domain/time.ts';
import { mergeSteps, type Series, splitIntoStretches } from './series.ts';

/** The axes of a chart, time from left to right and players from 0 at the bottom to `top`, and its size. */
export type Plot = {
  from: Date;
  to: Date;
  top: number;
  width: number;
  height: number;
  /** To which coordinates are rounded: 1 by default, which keeps the markup of pages short. */
  grain?: number;
};

type PlotProps = { series: Series; plot: Plot };

const HALF_AN_HOUR_SECONDS = 1800;

/** The last day of a series on a small plot, in half hours: finer detail is not visible at its size. */
export function toDayPlot(series: Series, { to, ...axes }: Omit<Plot, 'from'>): PlotProps {
  const from = new Date(to.getTime() - DAY_MS);
  return { series: mergeSteps(series, HALF_AN_HOUR_SECONDS), plot: { ...axes, from, to } };
}

/** Padding for the line width at the top and bottom. */
const MARGIN = 2;

/** The player curve for the times when the server was online. Its colours are those of the classes. */
export function Curve({ series, plot }: PlotProps): JSX.Element | null {
  const { x, y } = createScale(plot);
  const stepMs = series.stepSeconds * 1000;
  const stretches = splitIntoStretches(series, ({ onlineShare }) => onlineShare > 0);
  const lines = stretches.flatMap((stretch) => {
    const [first, last] = [stretch[0], stretch.at(-1)];
    if (!first || !last) return [];
    const corners: [number, number][] = [
      [x(first.at.getTime()), y(first.playersAverage)],
      ...stretch.map(({ at, playersAverage }): [number, number] => [
        x(at.getTime() + stepMs / 2),
        y(playersAverage),
      ]),
      [x(last.at.getTime() + stepMs), y(last.playersAverage)],
    ];
    return [corners];
  });
  if (lines.length === 0) return null;
  const areas = lines.map((corners) => {
    const [left = 0, right = 0] = [corners[0]?.[0], corners.at(-1)?.[0]];
    return `${toPath(corners)}L${right} ${plot.height}L${left} ${plot.height}Z`;
  });
  return (
    <>
      <path class="plot-area" d={areas.join('')} />
      <path class="plot-line" d={lines.map(toPath).join('')} />
    </>
  );
}

/** Shaded areas for the times when the server was offline. */
export function OfflineAreas({ series, plot }: PlotProps): JSX.Element[] {
  return listOfflineSpans({ series, plot }).map(({ left, right }) => (
    <rect class="plot-offline" x={left} y="0" width={Math.max(right - left, 1)} height={plot.height} />
  ));
}

/** Where on a plot the server was offline. */
export function listOfflineSpans({ series, plot }: PlotProps): { left: number; right: number }[] {
  const { x } = createScale(plot);
  return splitIntoStretches(series, ({ onlineShare }) => onlineShare === 0).map((stretch) => ({
    left: x(stretch[0]?.at.getTime() ?? 0),
    right: x((stretch.at(-1)?.at.getTime() ?? 0) + series.stepSeconds * 1000),
  }));
}

type LevelProps = { players: number; className: string; plot: Plot };

/** A horizontal line at a number of players. */
export function Level({ players, className, plot }: LevelProps): JSX.Element {
  return <path class={className} d={`M0 ${createScale(plot).y(players)}H${plot.width}`} />;
}

/** From values to places on a plot; times outside of it are at its edges. */
export function createScale({ from, to, top, width, height, grain = 1 }: Plot) {
  const spanMs = to.getTime() - from.getTime();
  const round = (value: number) => Math.round(value / grain) * grain;
  return {
    /** @param at milliseconds since the epoch. */
    x: (at: number) => Math.min(Math.max(round(((at - from.getTime()) / spanMs) * width), 0), width),
    y: (players: number) => round(height - MARGIN - (players / Math.max(top, 1)) * (height - 2 * MARGIN)),
  };
}

function toPath(corners: readonly [number, number][]): string {
  return corners.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${x} ${y}`).join('');
}
