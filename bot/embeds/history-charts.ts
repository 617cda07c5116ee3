import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { drawPlayerChart } from '../../src/charts/player-chart.tsx';
import { averagePlayersOf } from '../../src/charts/series.ts';
import type { ReadHistory, ServerHistory } from '../../src/live/server-history.ts';
import type { HistoryPoint } from '../../src/queries/servers/samples.ts';
import { withTimeLimit } from '../../src/runtime/time-limit.ts';
import type { ChartFacts } from '../locales/en.ts';
import type { Localization } from '../locales/localization.ts';
import type { Attachment } from './message-view.ts';

type Deps = {
  readHistory: ReadHistory;
  drawChart?: typeof drawPlayerChart;
  /** IANA name. */
  timeZone: string;
  log: Logger;
};

/** The chart of a server's last 24 hours; undefined when there is none. */
export type ReadChart = (serverId: number, localization: Localization) => Promise<Attachment | undefined>;

/** For loading and drawing the history; after it, the card is sent without a chart. */
const LIMIT_MS = 2000;
const HOURS = 24;
const MAX_CACHED_CHARTS = 200;
/** A curve needs two points. */
const MIN_POINTS = 2;

/**
 * Charts of a server's last day, drawn once for each language and each load of the history, and cached. A chart of
 * too few points is omitted; so is one that cannot be drawn, which is logged: the card is useful without it.
 */
export function createHistoryCharts({
  readHistory,
  drawChart = drawPlayerChart,
  timeZone,
  log,
}: Deps): ReadChart {
  const cache = new LRUCache<string, Promise<Attachment | undefined>>({ max: MAX_CACHED_CHARTS });

  async function loadChart(serverId: number, localization: Localization): Promise<Attachment | undefined> {
    const history = await readHistory(serverId, HOURS);
    const key = `${serverId} ${localization.language} ${history.readAt.getTime()}`;
    const chart = cache.get(key) ?? draw(history, localization);
    cache.set(key, chart);
    chart.catch(() => cache.delete(key));
    return chart;
  }

  async function draw(
    { points, stepSeconds, readAt }: ServerHistory,
    localization: Localization,
  ): Promise<Attachment | undefined> {
    const { intl, texts } = localization;
    if (points.length < MIN_POINTS) return undefined;
    const from = new Date(readAt.getTime() - HOURS * 3_600_000);
    const range = { from, to: readAt, stepSeconds };
    const bytes = await drawChart({ points, range, words: texts.chart, intl, timeZone });
    const facts = chartFacts(points, localization, timeZone);
    return { name: 'players.png', bytes, altText: texts.server.chartAlt(facts) };
  }

  return async (serverId, localization) => {
    try {
      return await withTimeLimit(loadChart(serverId, localization), LIMIT_MS);
    } catch (error) {
      log.warn({ err: error, serverId }, 'a server card is sent without its chart');
      return undefined;
    }
  };
}

/** A chart in words, for people who cannot see it: the highest number of players and when it was, the average, and gaps. */
export function chartFacts(
  points: readonly HistoryPoint[],
  { intl, texts }: Localization,
  timeZone: string,
): ChartFacts {
  const online = points.filter(({ onlineShare }) => onlineShare > 0);
  const [highest] = online.toSorted((a, b) => b.playersMaximum - a.playersMaximum);
  const time = new Intl.DateTimeFormat(intl, {
    hour: 'numeric',
    minute: '2-digit',
    timeZone,
    timeZoneName: 'short',
  });
  return {
    peak: texts.server.playerCount(highest?.playersMaximum ?? 0),
    peakAt: highest ? time.format(highest.at) : '–',
    average: new Intl.NumberFormat(intl, { maximumFractionDigits: 1 }).format(averagePlayersOf(points)),
    gaps: online.length < points.length,
  };
}
