import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Series } from '../../../src/charts/series.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import type { ServerView } from '../../../src/live/server-view.ts';
import { textsOf } from '../layout/locales/texts.ts';
import type { Visit } from '../request/visit.ts';
import { Sparkline } from './charts.tsx';
import { serverPathOf } from './paths.ts';
import { ConnectRow, LastSeen, MapName, Occupancy, ServerState } from './server-parts.tsx';

type ServerCardProps = {
  server: ServerView;
  /** The last 24 hours; undefined when they cannot be loaded. */
  history: Series | undefined;
  visit: Visit;
};

/** One server on the status page. */
export function ServerCard({ server, history, visit }: ServerCardProps): JSX.Element {
  const t = textsOf(visit.locale).status;
  const points = history?.points ?? [];
  // The history may be half a minute older than the number of players.
  const peak = Math.max(server.playersCount, ...points.map(({ playersMaximum }) => playersMaximum));
  const kind = [server.mode, server.region].filter((text) => text !== '');
  return (
    <li class="card server-card" id={`server-${server.slug}`}>
      <div class="server-head">
        <h3>
          <a href={serverPathOf(server)}>
            <bdi>{server.name}</bdi>
          </a>
        </h3>
        <ServerState server={server} visit={visit} />
      </div>
      {kind.length > 0 && <p class="server-kind">{kind.map(isolate).join(' · ')}</p>}
      {server.isOnline ? (
        <div class="server-now">
          <dl class="server-facts">
            <dt>{t.map}</dt>
            <dd>
              <MapName map={server.map} />
            </dd>
            <dt title={t.pingHint}>{t.ping}</dt>
            <dd>{t.milliseconds(server.pingMs)}</dd>
          </dl>
          <Occupancy server={server} visit={visit} />
        </div>
      ) : (
        <LastSeen server={server} visit={visit} />
      )}
      <div class="server-day">
        {history && points.length > 1 ? (
          <>
            <Sparkline series={history} until={visit.now} top={Math.max(server.maxPlayers, peak, 4)} />
            <p class="hint">{t.peakOf(peak)}</p>
          </>
        ) : (
          <p class="hint">{history ? t.noHistory : textsOf(visit.locale).server.unavailable}</p>
        )}
      </div>
      <ConnectRow server={server} visit={visit} />
    </li>
  );
}
