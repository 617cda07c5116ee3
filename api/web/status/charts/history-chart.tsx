import type { JSX } from 'hono/jsx/jsx-runtime';
import { isolate } from '../../../../src/domain/text/isolate.ts';
import { perLanguage } from '../../../../src/domain/text/per-language.ts';
import { averagePlayersOf, mergeSteps, type Series } from '../../../../src/live/series.ts';
import { textsOf } from '../../layout/locales/texts.ts';
import { FullMoment } from '../../layout/moment.tsx';
import type { Visit } from '../../request/visit.ts';
import { formatShare } from './format.ts';
import { Curve, Level, OfflineAreas } from './plot.tsx';

/** The charts of a server: the period of each, and the time that a row of its table covers. */
export const CHART_RANGES = [
  { name: 'day', hours: 24, rowSeconds: 3600 },
  { name: 'week', hours: 7 * 24, rowSeconds: 86_400 },
  { name: 'month', hours: 30 * 24, rowSeconds: 86_400 },
] as const;
export type ChartRange = (typeof CHART_RANGES)[number];

type HistoryChartProps = {
  range: ChartRange;
  serverName: string;
  /** Undefined when it cannot be loaded. */
  series: Series | undefined;
  visit: Visit;
};

const WIDTH = 720;
const HEIGHT = 160;
/** The minimum upper bound of the player axis, so that it is not 0 for an empty server. */
const MIN_TOP = 4;
/** Fewer points do not form a line. */
const MIN_POINTS = 2;

/** Players over time as a chart, with a text description for screen readers, and as a table. */
export function HistoryChart({ range, serverName, series, visit }: HistoryChartProps): JSX.Element {
  const t = textsOf(visit.locale).server;
  const id = `chart-${range.name}`;
  return (
    <figure class="chart" aria-labelledby={`${id}-caption`}>
      <figcaption>
        <h3 id={`${id}-caption`}>{t.ranges[range.name]}</h3>
        {series && series.points.length >= MIN_POINTS && <Legend series={series} visit={visit} />}
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

function Legend({ series, visit }: { series: Series; visit: Visit }): JSX.Element {
  return <p class="chart-legend">{summarise(series, visit)}</p>;
}

function summarise({ points }: Series, { locale }: Visit): string {
  const t = textsOf(locale).server;
  const average = countFormat(locale).format(averagePlayersOf(points));
  const wasOffline = points.some(({ onlineShare }) => onlineShare < 1);
  return t.chartSummary(average, peakOf(points), wasOffline);
}

type DrawingProps = { id: string; range: ChartRange; serverName: string; series: Series; visit: Visit };

function Drawing({ id, range, serverName, series, visit }: DrawingProps): JSX.Element {
  const t = textsOf(visit.locale).server;
  const capacity = Math.max(0, ...series.points.map(({ maxPlayers }) => maxPlayers));
  const top = Math.max(capacity, peakOf(series.points), MIN_TOP);
  const from = new Date(visit.now.getTime() - range.hours * 3_600_000);
  const place = { range: { from, to: visit.now, top }, width: WIDTH, height: HEIGHT };
  const words = [
    summarise(series, visit),
    ...(capacity > 0 ? [t.chartCapacity(capacity)] : []),
    t.chartOffline,
  ];
  return (
    <div class="plot">
      <div class="plot-counts" aria-hidden="true">
        <span>{top}</span>
        <span>{countFormat(visit.locale).format(top / 2)}</span>
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
          <Level {...place} players={top * share} className="plot-grid" />
        ))}
        <OfflineAreas {...place} series={series} />
        {capacity > 0 && <Level {...place} players={capacity} className="plot-capacity" />}
        <Curve {...place} series={series} />
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
  const t = textsOf(visit.locale).server;
  const rows = mergeSteps(series, range.rowSeconds).points.toReversed();
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
          {rows.map((row) => (
            <tr>
              <th scope="row">
                <FullMoment at={row.at} locale={visit.locale} />
              </th>
              <td>{countFormat(visit.locale).format(row.playersAverage)}</td>
              <td>{row.playersMaximum}</td>
              <td>{formatShare(visit.locale, row.onlineShare)}</td>
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

const countFormat = perLanguage((tag) => new Intl.NumberFormat(tag, { maximumFractionDigits: 1 }));
