import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { ReadHistory, ServerHistory } from '../src/server-history.ts';
import { chartFacts, drawPlayerChart } from './charts.ts';
import type { Attachment } from './embeds/message.ts';
import type { Localization } from './locales/localization.ts';

type Drawing = { readAt: number; chart: Promise<Attachment | undefined> };

const HOURS = 24;
const KEPT_CHARTS = 200;
/** Fewer points than this are no line. */
const FEWEST_POINTS = 2;

/**
 * Charts of the last day, each drawn once for each reading of the history and each locale, however many ask.
 * A chart that cannot be made is left out and logged: the card is worth having without it.
 */
export function createHistoryCharts({ readHistory, log }: { readHistory: ReadHistory; log: Logger }) {
  const drawings = new LRUCache<string, Drawing>({ max: KEPT_CHARTS });

  return async (serverId: number, localization: Localization): Promise<Attachment | undefined> => {
    try {
      const history = await readHistory(serverId, HOURS);
      const key = `${serverId} ${localization.locale}`;
      const known = drawings.get(key);
      if (known?.readAt === history.readAt.getTime()) return await known.chart;
      const drawing = { readAt: history.readAt.getTime(), chart: draw(history, localization) };
      drawings.set(key, drawing);
      return await drawing.chart;
    } catch (error) {
      log.warn({ err: error, serverId }, 'the chart of a server is left out');
      return undefined;
    }
  };
}

async function draw(
  { points, stepSeconds, readAt }: ServerHistory,
  localization: Localization,
): Promise<Attachment | undefined> {
  if (points.length < FEWEST_POINTS) return undefined;
  const from = new Date(readAt.getTime() - HOURS * 3_600_000);
  const bytes = await drawPlayerChart(points, { from, to: readAt, stepSeconds }, localization);
  return {
    name: 'players.png',
    bytes,
    altText: localization.texts.server.chartAlt(chartFacts(points, localization)),
  };
}
