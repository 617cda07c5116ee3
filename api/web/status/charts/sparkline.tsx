import type { JSX } from 'hono/jsx/jsx-runtime';
import { mergeSteps, type Series } from '../../../../src/live/series.ts';
import { Curve, OfflineAreas } from './plot.tsx';

/** One point per half hour: finer detail is not visible at this size. */
const STEP_SECONDS = 1800;
const WIDTH = 240;
const HEIGHT = 44;
const DAY_MS = 86_400_000;

type SparklineProps = {
  /** The last 24 hours. */
  series: Series;
  until: Date;
  /** The upper bound of the player axis. */
  top: number;
};

/** A small chart of the last day; hidden from screen readers, since text next to it has the key figures. */
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
