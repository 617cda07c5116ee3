import type { JSX } from 'hono/jsx/jsx-runtime';
import { mergeSteps, type Series } from '../../../../src/live/series.ts';
import { Curve, OfflineAreas } from './plot.tsx';

/** Half an hour a point: finer is not seen at this size. */
const STEP_SECONDS = 1800;
const WIDTH = 240;
const HEIGHT = 44;
const DAY_MS = 86_400_000;

type SparklineProps = {
  /** The last 24 hours. */
  series: Series;
  until: Date;
  /** Players at the upper edge. */
  top: number;
};

/** The last day as a small chart, next to text with its most important figures. */
export function Sparkline({ series, until, top }: SparklineProps): JSX.Element {
  const props = {
    series: mergeSteps(series, STEP_SECONDS),
    range: { from: new Date(until.getTime() - DAY_MS), to: until, top },
    width: WIDTH,
    height: HEIGHT,
  };
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <OfflineAreas {...props} />
      <Curve {...props} />
    </svg>
  );
}
