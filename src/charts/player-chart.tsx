import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HistoryPoint } from '../queries/servers/samples.ts';
import { Curve, createScale, Level, listOfflineSpans, OfflineAreas, type Plot } from './plot.tsx';
import { drawPng, type MeasureText } from './raster.ts';
import { hasGlyphs } from './text.ts';

export type PlayerChart = {
  /** Oldest first; steps without a poll are missing. */
  points: readonly HistoryPoint[];
  range: { from: Date; to: Date; stepSeconds: number };
  words: ChartWords;
  /** The BCP 47 tag for the labels of times. */
  locale: string;
  /** IANA name. */
  timeZone: string;
};

type ChartWords = {
  title: string;
  capacity: string;
  offline: string;
  peak: (players: number) => string;
};

/** How a chart writes times, all in one language. */
type TimeLabels = {
  /** "16:00" or "4 PM" @param at milliseconds since the epoch, a full hour. */
  hour: (at: number) => string;
  /** The short name of the day. @param at milliseconds since the epoch. */
  day: (at: number) => string;
  /** The short name of the time zone, as of now. */
  zone: string;
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
const HOUR_MS = 3_600_000;
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
              <Text
                x={(left + right) / 2}
                y={plot.height / 2}
                size={22}
                weight={600}
                ink="offline"
                anchor="middle"
              >
                {words.offline}
              </Text>
            )}
          </>
        ))}
        {[levels[0], levels[2], levels[4]].map((players = 0) => (
          <Text x={-12} y={y(players)} size={24} ink="faint" anchor="end">
            {players}
          </Text>
        ))}
        <Hours plot={plot} chart={chart} measure={measure} />
        {capacity > 0 && <Level plot={plot} players={capacity} className="plot-capacity" />}
        <Curve plot={plot} series={series} />
      </g>
      <Text x={20} y={34} size={26} weight={600} ink="text">
        {words.title}
      </Text>
      <Text x={PLOT.right} y={34} size={24} ink="line" anchor="end">
        {peakLabel}
      </Text>
      {capacity > 0 && (
        <Text x={PLOT.right - peakWidth - 24} y={34} size={24} ink="capacity" anchor="end">
          {`${words.capacity} ${capacity}`}
        </Text>
      )}
    </>
  );
}

/**
 * Vertical lines at every fourth hour of the reader's time zone, with the name of the day at midnight, and the name of the
 * time zone in the lower corner. Time zone offsets are multiples of 15 minutes, so each quarter of an hour is tried.
 */
function Hours({
  plot,
  chart: { locale, timeZone },
  measure,
}: {
  plot: Plot;
  chart: PlayerChart;
  measure: MeasureText;
}): JSX.Element {
  const labels = createTimeLabels({ locale, timeZone });
  const zoneLeft = 10 - PLOT.left;
  const zoneEnd = zoneLeft + measure(labels.zone, { size: 20, weight: 400 });
  const { x: toX } = createScale(plot);
  return (
    <>
      <Text x={zoneLeft} y={HEIGHT - 14 - PLOT.top} size={20} ink="faint">
        {labels.zone}
      </Text>
      {listFullHours(plot, timeZone).map(({ at, hour }) => {
        const x = toX(at);
        const label = hour === 0 ? labels.day(at) : labels.hour(at);
        const halfWidth = measure(label, { size: 24, weight: 400 }) / 2;
        return (
          <>
            <path d={`M${x} 0V${plot.height + 6}`} stroke={INK.grid} stroke-width={hour === 0 ? 3 : 1.5} />
            {x - halfWidth >= zoneEnd + 8 && (
              <Text
                x={Math.min(x, WIDTH - PLOT.left - halfWidth - 8)}
                y={plot.height + 26}
                size={24}
                ink={hour === 0 ? 'text' : 'faint'}
                anchor="middle"
              >
                {label}
              </Text>
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

/** @param props.y of the middle of the letters. */
function Text({
  x,
  y,
  size,
  weight = 400,
  ink,
  anchor = 'start',
  children,
}: {
  x: number;
  y: number;
  size: number;
  weight?: 400 | 600;
  ink: keyof typeof INK;
  anchor?: 'start' | 'middle' | 'end';
  children: string | number;
}): JSX.Element {
  return (
    <text
      x={x}
      y={y + size * 0.36}
      font-size={size}
      font-weight={weight}
      fill={INK[ink]}
      text-anchor={anchor}
    >
      {children}
    </text>
  );
}

function roundUpToTop(players: number): number {
  return TOPS.find((top) => top >= players) ?? Math.ceil(players / 100) * 100;
}

/** Labels in the reader's language, or in English when the fonts lack glyphs for any of them; the time zone stays. */
export function createTimeLabels({ locale, timeZone }: Pick<PlayerChart, 'locale' | 'timeZone'>): TimeLabels {
  const labels = formatTimes(locale, timeZone);
  return isDrawable(labels) ? labels : formatTimes('en-GB', timeZone);
}

function formatTimes(locale: string, timeZone: string): TimeLabels {
  const hours = new Intl.DateTimeFormat(locale, { hour: 'numeric', timeZone });
  const clock = new Intl.DateTimeFormat(locale, { hour: 'numeric', minute: '2-digit', timeZone });
  const days = new Intl.DateTimeFormat(locale, { weekday: 'short', timeZone });
  const zones = new Intl.DateTimeFormat(locale, { timeZone, timeZoneName: 'short' });
  const is12Hour = hours.resolvedOptions().hour12 === true;
  return {
    hour: (at) => (is12Hour ? hours : clock).format(at),
    day: (at) => days.format(at),
    zone: zones.formatToParts(new Date()).find(({ type }) => type === 'timeZoneName')?.value ?? timeZone,
  };
}

/** Whether every label can be drawn. */
function isDrawable({ hour, day, zone }: TimeLabels): boolean {
  const hours = Array.from({ length: 24 }, (_, index) => hour(index * HOUR_MS));
  const days = Array.from({ length: 7 }, (_, index) => day(index * 24 * HOUR_MS));
  return [...hours, ...days, zone].every(hasGlyphs);
}
