import type { JSX } from 'hono/jsx/jsx-runtime';
import { type Series, splitIntoStretches } from '../../../../src/live/series.ts';

/** The axes of a chart: time from left to right, players from 0 at the bottom to `top`. */
export type PlotRange = { from: Date; to: Date; top: number };

type PlotProps = { series: Series; range: PlotRange; width: number; height: number };

/** Padding for the line width at the top and bottom. */
const MARGIN = 2;

/** The player curve for the times when the server was online. Coordinates are rounded to keep the markup short. */
export function Curve({ series, range, width, height }: PlotProps): JSX.Element | null {
  const { x, y } = createScale(range, width, height);
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
    return `${toPath(corners)}L${right} ${height}L${left} ${height}Z`;
  });
  return (
    <>
      <path class="plot-area" d={areas.join('')} />
      <path class="plot-line" d={lines.map(toPath).join('')} />
    </>
  );
}

/** Shaded areas for the times when the server was offline. */
export function OfflineAreas({ series, range, width, height }: PlotProps): JSX.Element[] {
  const { x } = createScale(range, width, height);
  return splitIntoStretches(series, ({ onlineShare }) => onlineShare === 0).map((stretch) => {
    const left = x(stretch[0]?.at.getTime() ?? 0);
    const right = x((stretch.at(-1)?.at.getTime() ?? 0) + series.stepSeconds * 1000);
    return <rect class="plot-offline" x={left} y="0" width={Math.max(right - left, 1)} height={height} />;
  });
}

/** A horizontal line at a number of players. */
export function Level({
  players,
  className,
  range,
  width,
  height,
}: Omit<PlotProps, 'series'> & { players: number; className: string }): JSX.Element {
  const { y } = createScale(range, width, height);
  return <path class={className} d={`M0 ${y(players)}H${width}`} />;
}

function createScale({ from, to, top }: PlotRange, width: number, height: number) {
  const spanMs = to.getTime() - from.getTime();
  const within = (value: number) => Math.min(Math.max(Math.round(value), 0), width);
  return {
    x: (at: number) => within(((at - from.getTime()) / spanMs) * width),
    y: (players: number) =>
      Math.round(height - MARGIN - (players / Math.max(top, 1)) * (height - 2 * MARGIN)),
  };
}

function toPath(corners: readonly [number, number][]): string {
  return corners.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${x} ${y}`).join('');
}
