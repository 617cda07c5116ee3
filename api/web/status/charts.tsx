import type { JSX } from 'hono/jsx/jsx-runtime';
import { Curve, Level, OfflineAreas, type Plot, toDayPlot } from '../../../src/charts/plot.tsx';
import { averagePlayersOf, mergeDays, mergeSteps, type Series } from '../../../src/charts/series.ts';
import { type Language, perLanguage } from '../../../src/domain/language.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { listDays } from '../../../src/domain/time-zone.ts';
import { FullMoment } from '../layout/moment.tsx';
import { textsOf } from '../locales/texts.ts';
import type { Visit } from '../request/visit.ts';

/** The charts of a server, and the period of each. */
export const CHART_RANGES = [
  { name: 'day', hours: 24 },
  { name: 'week', hours: 7 * 24 },
  { name: 'month', hours: 30 * 24 },
] as const;
export type ChartRange = (typeof CHART_RANGES)[number];

type HistoryChartProps = {
  range: ChartRange;
  serverName: string;
  /** Undefined when it cannot be loaded. */
  series: Series | undefined;
  visit: Visit;
};

const HOUR_SECONDS = 3600;
/** The last 30 days begin and end in the middle of a calendar day, so they touch 31. */
const DAYS = 31;
const WIDTH = 720;
const HEIGHT = 160;
/** The minimum upper bound of the player axis, so that it is not 0 for an empty server. */
const MIN_TOP = 4;
/** Fewer points do not form a line. */
const MIN_POINTS = 2;

/** Players over time as a chart, with a text description for screen readers, and as a table. */
export function HistoryChart({ range, serverName, series, visit }: HistoryChartProps): JSX.Element {
  const t = textsOf(visit.language).server;
  const id = `chart-${range.name}`;
  return (
    <figure class="chart" aria-labelledby={`${id}-caption`}>
      <figcaption>
        <h3 id={`${id}-caption`}>{t.ranges[range.name]}</h3>
        {series && series.points.length >= MIN_POINTS && (
          <p class="chart-legend">{summarise(series, visit)}</p>
        )}
      </figcaption>
      {series && series.points.length >= MIN_POINTS ? (
        <>
          <Drawing id={id} range={range} serverName={serverName} series={series} visit={visit} />
          <Table range={range} series={series} visit={visit} />
        </>
      ) : (
        <p class="empty">{series ? t.notEnough : t.unavailable}</p>
      )}
    </figure>
  );
}

function summarise({ points }: Series, { language }: Visit): string {
  const t = textsOf(language).server;
  const average = countFormat(language).format(averagePlayersOf(points));
  const wasOffline = points.some(({ onlineShare }) => onlineShare < 1);
  return t.chartSummary(average, peakOf(points), wasOffline);
}

type DrawingProps = { id: string; range: ChartRange; serverName: string; series: Series; visit: Visit };

function Drawing({ id, range, serverName, series, visit }: DrawingProps): JSX.Element {
  const t = textsOf(visit.language).server;
  const capacity = Math.max(0, ...series.points.map(({ maxPlayers }) => maxPlayers));
  const top = Math.max(capacity, peakOf(series.points), MIN_TOP);
  const from = new Date(visit.now.getTime() - range.hours * 3_600_000);
  const plot: Plot = { from, to: visit.now, top, width: WIDTH, height: HEIGHT };
  const words = [
    summarise(series, visit),
    ...(capacity > 0 ? [t.chartCapacity(capacity)] : []),
    t.chartOffline,
  ];
  return (
    <div class="plot">
      <div class="plot-counts" aria-hidden="true">
        <span>{top}</span>
        <span>{countFormat(visit.language).format(top / 2)}</span>
        <span>0</span>
      </div>
      <svg
        role="img"
        aria-labelledby={`${id}-title ${id}-words`}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        <title id={`${id}-title`}>{t.chartTitle(isolate(serverName), t.ranges[range.name])}</title>
        <desc id={`${id}-words`}>{words.join(' ')}</desc>
        {[0.25, 0.5, 0.75].map((share) => (
          <Level plot={plot} players={top * share} className="plot-grid" />
        ))}
        <OfflineAreas plot={plot} series={series} />
        {capacity > 0 && <Level plot={plot} players={capacity} className="plot-capacity" />}
        <Curve plot={plot} series={series} />
      </svg>
      <div class="plot-times" aria-hidden="true">
        {t.ago[range.name].map((text) => (
          <span>{text}</span>
        ))}
      </div>
    </div>
  );
}

function Table({ range, series, visit }: { range: ChartRange; series: Series; visit: Visit }): JSX.Element {
  const t = textsOf(visit.language).server;
  const days = listDays(visit.now, { count: DAYS, timeZone: visit.timeZone });
  const rows = range.name === 'day' ? mergeSteps(series, HOUR_SECONDS) : mergeDays(series, days);
  return (
    <details class="chart-table">
      <summary>{t.asTable}</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">{t.columns.since}</th>
            <th scope="col">{t.columns.average}</th>
            <th scope="col">{t.columns.peak}</th>
            <th scope="col">{t.columns.online}</th>
          </tr>
        </thead>
        <tbody>
          {rows.points.toReversed().map((row) => (
            <tr>
              <th scope="row">
                <FullMoment at={row.at} visit={visit} />
              </th>
              <td>{countFormat(visit.language).format(row.playersAverage)}</td>
              <td>{row.playersMaximum}</td>
              <td>{formatShare(visit.language, row.onlineShare)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

function peakOf(points: Series['points']): number {
  return Math.max(0, ...points.map(({ playersMaximum }) => playersMaximum));
}

const countFormat = perLanguage(({ intl }) => new Intl.NumberFormat(intl, { maximumFractionDigits: 1 }));

const SPARKLINE_WIDTH = 240;
const SPARKLINE_HEIGHT = 44;

type SparklineProps = {
  /** The last 24 hours. */
  series: Series;
  until: Date;
  /** The upper bound of the player axis. */
  top: number;
};

/** A small chart of the last day; hidden from screen readers, since text next to it has the key figures. */
export function Sparkline({ series, until, top }: SparklineProps): JSX.Element {
  const plot = toDayPlot(series, { to: until, top, width: SPARKLINE_WIDTH, height: SPARKLINE_HEIGHT });
  return (
    <svg
      class="sparkline"
      viewBox={`0 0 ${SPARKLINE_WIDTH} ${SPARKLINE_HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      focusable="false"
    >
      <OfflineAreas {...plot} />
      <Curve {...plot} />
    </svg>
  );
}

const BAR_WIDTH = 8;
const BAR_STEP = 12;
const UPTIME_HEIGHT = 32;

/** One bar per day, coloured by the share of time that the server was online. @param series the last 30 days. */
export function UptimeBars({ series, visit }: { series: Series; visit: Visit }): JSX.Element {
  const t = textsOf(visit.language).server;
  const days = listDays(visit.now, { count: DAYS, timeZone: visit.timeZone });
  const shares = new Map(
    mergeDays(series, days).points.map(({ at, onlineShare }) => [at.getTime(), onlineShare]),
  );
  const wordsOf = (day: Date) => {
    const share = shares.get(day.getTime());
    const words = share === undefined ? t.noChecks : formatShare(visit.language, share);
    return t.uptimeOn(dayFormat(visit.language, visit.timeZone).format(day), words);
  };
  return (
    <>
      <svg
        class="uptime"
        role="img"
        aria-labelledby="uptime-words"
        viewBox={`0 0 ${DAYS * BAR_STEP - (BAR_STEP - BAR_WIDTH)} ${UPTIME_HEIGHT}`}
        preserveAspectRatio="none"
      >
        <title id="uptime-words">{t.uptimeLead}</title>
        {days.map((day, index) => (
          <rect
            class={`uptime-${levelOf(shares.get(day.getTime()))}`}
            x={index * BAR_STEP}
            width={BAR_WIDTH}
            height={UPTIME_HEIGHT}
            rx="2"
          >
            <title>{wordsOf(day)}</title>
          </rect>
        ))}
      </svg>
      <div class="plot-times" aria-hidden="true">
        <span>{t.thirtyDaysAgo}</span>
        <span>{t.today}</span>
      </div>
    </>
  );
}

function levelOf(share: number | undefined): 'none' | 'good' | 'fair' | 'poor' {
  if (share === undefined) return 'none';
  return share >= 0.995 ? 'good' : share >= 0.95 ? 'fair' : 'poor';
}

const dayFormat = perLanguage(
  ({ intl, months: month }, timeZone) => new Intl.DateTimeFormat(intl, { day: 'numeric', month, timeZone }),
);

/** Formats a share as `99.98%`, rounded down: a server that was offline for a moment never shows 100%. */
export function formatShare(language: Language, share: number): string {
  const floored = Math.floor(share * 10_000 + 1e-6) / 10_000;
  return shareFormat(language).format(floored);
}

const shareFormat = perLanguage(
  ({ intl }) => new Intl.NumberFormat(intl, { style: 'percent', maximumFractionDigits: 2 }),
);
