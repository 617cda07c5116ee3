import type { JSX } from 'hono/jsx/jsx-runtime';
import { perLanguage } from '../../../../src/domain/text/per-language.ts';
import { mergeSteps, type Series } from '../../../../src/live/series.ts';
import { textsOf } from '../../layout/locales/texts.ts';
import type { Visit } from '../../request/visit.ts';
import { formatShare } from './format.ts';

/** The last 30 days begin and end in the middle of a calendar day, so they touch 31. */
const DAYS = 31;
const DAY_MS = 86_400_000;
const BAR_WIDTH = 8;
const STEP = 12;
const HEIGHT = 32;

/** One bar per day, coloured by the share of time that the server was online. @param series the last 30 days. */
export function UptimeBars({ series, visit }: { series: Series; visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale).server;
  const shares = new Map(
    mergeSteps(series, DAY_MS / 1000).points.map(({ at, onlineShare }) => [at.getTime(), onlineShare]),
  );
  const today = Math.floor(visit.now.getTime() / DAY_MS) * DAY_MS;
  const days = Array.from({ length: DAYS }, (_, index) => today - (DAYS - 1 - index) * DAY_MS);
  const wordsOf = (day: number) => {
    const share = shares.get(day);
    const words = share === undefined ? t.noChecks : formatShare(visit.locale, share);
    return t.uptimeOn(dayFormat(visit.locale).format(day), words);
  };
  return (
    <>
      <svg
        class="uptime"
        role="img"
        aria-labelledby="uptime-words"
        viewBox={`0 0 ${DAYS * STEP - (STEP - BAR_WIDTH)} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        <title id="uptime-words">{t.uptimeLead}</title>
        {days.map((day, index) => (
          <rect
            class={`uptime-${levelOf(shares.get(day))}`}
            x={index * STEP}
            width={BAR_WIDTH}
            height={HEIGHT}
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
  (tag) => new Intl.DateTimeFormat(tag, { day: 'numeric', month: 'short', timeZone: 'UTC' }),
);
