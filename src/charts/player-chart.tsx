import type { JSX } from 'hono/jsx/jsx-runtime';
import { HOUR_MS } from '../domain/time.ts';
import { zoneNameOf } from '../domain/time-zone.ts';
import type { HistoryPoint } from '../queries/servers/samples.ts';
import { Curve, createScale, Level, listOfflineSpans, OfflineAreas, type Plot } from './plot.tsx';
import { drawPng, type MeasureText } from './raster.ts';

export type PlayerChart = {
  /** Oldest first; steps without a poll are missing. */
  points: readonly HistoryPoint[];
  range: { from: Date; to: Date; stepSeconds: number };
  words: ChartWords;
  /** The BCP 47 tag for the labels of times. */
  intl: string;
  /** IANA name. */
  timeZone: string;
};

type ChartWords = {
  title: string;
  capacity: string;
  offline: string;
  peak: (players: number) => string;
};

/** Twice the width at which Discord shows an embed's image, so that it stays sharp. */
const WIDTH = 800;
const HEIGHT = 360;
/** Where the curve is drawn; around it are the headline, the numbers and the hours. */
const PLOT = { left: 64, top: 64, right: 776, bottom: 312 };
/** The minimum upper bound of the player axis, so that it is not 0 for an empty server. */
const MIN_TOP = 4;
/** Numbers that four steps divide into whole players. */
const TOPS = [4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 100, 128, 160, 200, 256];
const QUARTER_OF_AN_HOUR_MS = HOUR_MS / 4;

/** With an opaque background, so that one picture suits Discord's dark and light themes. */
const INK = {
  background: '#1e1f26',
  grid: '#3a3c47',
  text: '#f2f3f5',
  faint: '#b5bac1',
  line: '#57d38c',
  capacity: '#f0b232',
  offline: '#ed4245',
} as const;
const STYLE = `
  path { fill: none; stroke-linejoin: round }
  .plot-grid { stroke: ${INK.grid}; stroke-width: 2 }
  .plot-area { fill: ${INK.line}; fill-opacity: 0.25 }
  .plot-line { stroke: ${INK.line}; stroke-width: 4 }
  .plot-offline { fill: ${INK.offline}; fill-opacity: 0.22 }
  .plot-capacity { stroke: ${INK.capacity}; stroke-width: 2.5; stroke-dasharray: 10 8 }
`;

/** Draws the players of one server over time, with the capacity, and gaps where it was offline or not polled. @returns a PNG. */
export function drawPlayerChart(chart: PlayerChart): Promise<Uint8Array> {
  return drawPng({ width: WIDTH, height: HEIGHT, style: STYLE }, (measure) => (
    <PlayerChartElements {...chart} measure={measure} />
  ));
}

/** The elements of {@link drawPlayerChart}. */
export function PlayerChartElements({
  measure,
  ...chart
}: PlayerChart & { measure: MeasureText }): JSX.Element {
  const { points, range, words } = chart;
  const capacity = Math.max(0, ...points.map(({ maxPlayers }) => maxPlayers));
  const peak = Math.max(0, ...points.map(({ playersMaximum }) => playersMaximum));
  const plot: Plot = {
    ...range,
    top: roundUpToTop(Math.max(capacity, peak, MIN_TOP)),
    width: PLOT.right - PLOT.left,
    height: PLOT.bottom - PLOT.top,
    grain: 0.25,
  };
  const { y } = createScale(plot);
  const series = { points, stepSeconds: range.stepSeconds };
  const levels = [0, 0.25, 0.5, 0.75, 1].map((share) => plot.top * share);
  const peakLabel = words.peak(peak);
  const peakWidth = measure(peakLabel, { size: 24, weight: 400 });
  return (
    <>
      <rect width={WIDTH} height={HEIGHT} rx="16" fill={INK.background} />
      <g transform={`translate(${PLOT.left} ${PLOT.top})`}>
        {levels.map((players) => (
          <Level plot={plot} players={players} className="plot-grid" />
        ))}
        <OfflineAreas plot={plot} series={series} />
        {listOfflineSpans({ plot, series }).map(({ left, right }) => (
          <>
            <rect x={left} y={plot.height - 4} width={right - left} height="4" fill={INK.offline} />
            {measure(words.offline, { size: 22, weight: 600 }) + 12 <= right - left && (
              <text
                x={(left + right) / 2}
                y={plot.height / 2 + 8}
                font-size="22"
                font-weight="600"
                fill={INK.offline}
                text-anchor="middle"
              >
                {words.offline}
              </text>
            )}
          </>
        ))}
        {[levels[0], levels[2], levels[4]].map((players = 0) => (
          <text x={-12} y={y(players) + 9} font-size="24" fill={INK.faint} text-anchor="end">
            {players}
          </text>
        ))}
        <Hours plot={plot} chart={chart} measure={measure} />
        {capacity > 0 && <Level plot={plot} players={capacity} className="plot-capacity" />}
        <Curve plot={plot} series={series} />
      </g>
      <text x="20" y="43" font-size="26" font-weight="600" fill={INK.text}>
        {words.title}
      </text>
      <text x={PLOT.right} y="43" font-size="24" fill={INK.line} text-anchor="end">
        {peakLabel}
      </text>
      {capacity > 0 && (
        <text x={PLOT.right - peakWidth - 24} y="43" font-size="24" fill={INK.capacity} text-anchor="end">
          {`${words.capacity} ${capacity}`}
        </text>
      )}
    </>
  );
}

type HoursProps = { plot: Plot; chart: PlayerChart; measure: MeasureText };

/**
 * Vertical lines at every fourth hour of the time zone, with the name of the day at midnight, and the name of the
 * time zone in the lower corner. Time zone offsets are multiples of 15 minutes, so each quarter of an hour is tried.
 */
function Hours({ plot, chart, measure }: HoursProps): JSX.Element {
  const { intl, timeZone } = chart;
  const days = new Intl.DateTimeFormat(intl, { weekday: 'short', timeZone });
  const zone = zoneNameOf(intl, timeZone, plot.to);
  const zoneLeft = 10 - PLOT.left;
  const zoneEnd = zoneLeft + measure(zone, { size: 20, weight: 400 });
  const { x: toX } = createScale(plot);
  return (
    <>
      <text x={zoneLeft} y={HEIGHT - 7 - PLOT.top} font-size="20" fill={INK.faint}>
        {zone}
      </text>
      {listFullHours(plot, timeZone).map(({ at, hour }) => {
        const x = toX(at);
        const label = hour === 0 ? days.format(at) : `${hour}:00`;
        const halfWidth = measure(label, { size: 24, weight: 400 }) / 2;
        return (
          <>
            <path d={`M${x} 0V${plot.height + 6}`} stroke={INK.grid} stroke-width={hour === 0 ? 3 : 1.5} />
            {x - halfWidth >= zoneEnd + 8 && (
              <text
                x={Math.min(x, WIDTH - PLOT.left - halfWidth - 8)}
                y={plot.height + 35}
                font-size="24"
                fill={INK[hour === 0 ? 'text' : 'faint']}
                text-anchor="middle"
              >
                {label}
              </text>
            )}
          </>
        );
      })}
    </>
  );
}

function listFullHours({ from, to }: Plot, timeZone: string): { at: number; hour: number }[] {
  const parts = new Intl.DateTimeFormat('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    timeZone,
  });
  const hours: { at: number; hour: number }[] = [];
  const first = Math.ceil(from.getTime() / QUARTER_OF_AN_HOUR_MS) * QUARTER_OF_AN_HOUR_MS;
  for (let at = first; at <= to.getTime(); at += QUARTER_OF_AN_HOUR_MS) {
    const [hour = 0, minute = 0] = parts.format(at).split(':').map(Number);
    if (minute === 0 && hour % 4 === 0) hours.push({ at, hour });
  }
  return hours;
}

function roundUpToTop(players: number): number {
  return TOPS.find((top) => top >= players) ?? Math.ceil(players / 100) * 100;
}
