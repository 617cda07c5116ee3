import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { ReadHistory, ServerHistory } from '../../src/live/server-history.ts';
import type { Attachment } from '../embeds/message.ts';
import type { Localization } from '../locales/localization.ts';
import { chartAltText } from './alt-text.ts';
import type { DrawChart } from './player-chart.ts';

/** @returns undefined when there are too few points for a chart, or when it cannot be drawn. */
export type ChartOf = (serverId: number, localization: Localization) => Promise<Attachment | undefined>;

type Deps = {
  readHistory: ReadHistory;
  drawChart: DrawChart;
  log: Logger;
};

type CachedChart = { readAt: number; chart: Promise<Attachment | undefined> };

const HOURS = 24;
const MAX_CACHED_CHARTS = 200;
/** A curve needs two points. */
const MIN_POINTS = 2;

/**
 * Charts of a server's last day, drawn once for each locale and each load of the history, and cached. A chart that
 * cannot be drawn is logged and omitted: the card is useful without it.
 */
export function createHistoryCharts({ readHistory, drawChart, log }: Deps): ChartOf {
  const cache = new LRUCache<string, CachedChart>({ max: MAX_CACHED_CHARTS });
  return async (serverId, localization) => {
    try {
      const history = await readHistory(serverId, HOURS);
      const readAt = history.readAt.getTime();
      const key = `${serverId} ${localization.locale}`;
      const cached = cache.get(key);
      if (cached?.readAt === readAt) return await cached.chart;
      const chart = toAttachment(drawChart, history, localization);
      cache.set(key, { readAt, chart });
      chart.catch(() => cache.get(key)?.chart === chart && cache.delete(key));
      return await chart;
    } catch (error) {
      log.warn({ err: error, serverId }, 'a server card is sent without its chart');
      return undefined;
    }
  };
}

async function toAttachment(
  drawChart: DrawChart,
  { points, stepSeconds, readAt }: ServerHistory,
  localization: Localization,
): Promise<Attachment | undefined> {
  if (points.length < MIN_POINTS) return undefined;
  const from = new Date(readAt.getTime() - HOURS * 3_600_000);
  const range = { from, to: readAt, stepSeconds };
  const bytes = await drawChart({ points, range, locale: localization.locale });
  return { name: 'players.png', bytes, altText: chartAltText(points, localization) };
}
