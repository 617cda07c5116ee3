import { averagePlayersOf } from '../../src/live/series.ts';
import type { HistoryPoint } from '../../src/queries/servers/samples.ts';
import type { ChartFacts } from '../locales/en.ts';
import type { Localization } from '../locales/localization.ts';

/** A chart in words, for people who cannot see it. */
export function chartAltText(points: readonly HistoryPoint[], localization: Localization): string {
  return localization.texts.server.chartAlt(chartFacts(points, localization));
}

/** The highest number of players and when it was, the average, and whether it was offline. */
export function chartFacts(
  points: readonly HistoryPoint[],
  { locale, texts, timeZone }: Localization,
): ChartFacts {
  const online = points.filter(({ onlineShare }) => onlineShare > 0);
  const highest = online.reduce<HistoryPoint | undefined>(
    (best, point) => (best && best.playersMaximum >= point.playersMaximum ? best : point),
    undefined,
  );
  const time = new Intl.DateTimeFormat(locale, {
    hour: 'numeric',
    minute: '2-digit',
    timeZone,
    timeZoneName: 'short',
  });
  return {
    peak: texts.server.playerCount(highest?.playersMaximum ?? 0),
    peakAt: highest ? time.format(highest.at) : '–',
    average: new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }).format(averagePlayersOf(points)),
    gaps: online.length < points.length,
  };
}
