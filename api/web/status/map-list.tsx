import type { JSX } from 'hono/jsx/jsx-runtime';
import { mapNameOf } from '../../../src/live/server-view.ts';
import type { PlayedMaps } from '../../../src/queries/servers/maps.ts';
import type { Texts } from '../layout/locales/en.ts';
import { textsOf } from '../layout/locales/texts.ts';
import type { Visit } from '../request/visit.ts';

/**
 * The maps by time played, longest first, as a list of bars.
 * @param props.played undefined when they cannot be loaded.
 */
export function MapList({ played, visit }: { played: PlayedMaps | undefined; visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale).server;
  if (!played) return <p class="empty">{t.unavailable}</p>;
  const { maps, others } = played;
  const longest = maps[0]?.seconds ?? 0;
  if (maps.length === 0) return <p class="empty">{t.noMaps}</p>;
  return (
    <>
      <p class="hint">{t.mapsLead}</p>
      <ol class="maps">
        {maps.map(({ map, seconds, times }) => (
          <li>
            <span class="map-name" title={map}>
              {mapNameOf(map) || '–'}
            </span>
            <span class="map-time">
              {formatHours(seconds, t)} · {t.times(times)}
            </span>
            <svg class="bar-fill" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
              <rect
                width={longest > 0 ? Math.max(Math.round((seconds / longest) * 100), 1) : 100}
                height="1"
              />
            </svg>
          </li>
        ))}
      </ol>
      {others > 0 && <p class="hint">{t.otherMaps(others)}</p>}
    </>
  );
}

/** Formats a duration as `12 h 30 min`; only minutes below an hour, only hours from a day on. */
function formatHours(seconds: number, { hours: inHours, minutes: inMinutes }: Texts['server']): string {
  const minutes = Math.max(1, Math.round(seconds / 60));
  if (minutes < 60) return inMinutes(minutes);
  const hours = Math.floor(minutes / 60);
  if (hours >= 24 || minutes % 60 === 0) return inHours(hours);
  return `${inHours(hours)} ${inMinutes(minutes % 60)}`;
}
