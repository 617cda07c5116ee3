import type { JSX } from 'hono/jsx/jsx-runtime';
import { addSeries, type Series } from '../../../src/charts/series.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import type { ServerView } from '../../../src/live/server-view.ts';
import { TOOL } from '../../../src/runtime/tool.ts';
import { CopyableText } from '../layout/copy-button.tsx';
import { Facts } from '../layout/facts.tsx';
import { Icon } from '../layout/icons.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import { FullMoment } from '../layout/moment.tsx';
import { textsOf } from '../locales/texts.ts';
import type { Visit } from '../request/visit.ts';
import { DemoSignIn } from '../sign-in/demo-sign-in.tsx';
import { Sparkline } from './charts.tsx';
import {
  bannerPathOf,
  ConnectRow,
  LastSeen,
  MapName,
  Occupancy,
  ServerState,
  serverPathOf,
} from './server-parts.tsx';

/** A server and its history of the last 24 hours; undefined when that cannot be loaded. */
type ListedServer = { server: ServerView; history: Series | undefined };

type StatusPageProps = { site: Site; visit: Visit; servers: readonly ListedServer[] };

/** The reload interval without scripts; status.js updates the page more often, without reloading. */
export const REFRESH_SECONDS = 30;

const ADD_COMMAND = `${TOOL} servers add --name "My server" --address HOST:27015 --mode Competitive --region EU`;

const SHOW_COMMAND = `${TOOL} servers unhide --all`;

/** The status page: every server of the community. */
export function StatusPage({ site, visit, servers }: StatusPageProps): JSX.Element {
  const { status: t, penalties } = textsOf(visit.language);
  const online = servers.filter(({ server }) => server.isOnline);
  const playing = online.reduce((sum, { server }) => sum + server.playersCount, 0);
  const summary = servers.every(({ server }) => server.uncheckedSince)
    ? t.unchecked
    : t.summary(online.length, servers.length, playing);
  const [busiest] = servers.toSorted((a, b) => b.server.playersCount - a.server.playersCount);
  return (
    <Layout
      site={site}
      visit={visit}
      title=""
      preview={{
        description: servers.length === 0 ? t.none : summary,
        ...(busiest && { imagePath: bannerPathOf(busiest.server) }),
      }}
      scripts={['status.js']}
      refreshSeconds={REFRESH_SECONDS}
    >
      <DemoSignIn visit={visit} />
      <div data-live data-lost={t.lostConnection}>
        {servers.length === 0 ? (
          <NoServers site={site} visit={visit} />
        ) : (
          <>
            <Overview site={site} visit={visit} servers={servers} playing={playing} />
            <h2 class="sr-only">{penalties.allServers}</h2>
            <ul class="servers">
              {servers.map(({ server, history }) => (
                <ServerCard server={server} history={history} visit={visit} />
              ))}
            </ul>
            <LiveLine visit={visit} servers={servers.map(({ server }) => server)} />
          </>
        )}
      </div>
    </Layout>
  );
}

/** The figures of the whole community. */
function Overview({ site, visit, servers, playing }: StatusPageProps & { playing: number }): JSX.Element {
  const t = textsOf(visit.language).status;
  const histories = servers.flatMap(({ history }) => (history ? [history] : []));
  const total = addSeries(histories, histories[0]?.stepSeconds ?? 300);
  // Servers reach their maxima at different times, so the sum would be too high; each maximum is a lower bound.
  const maxima = histories.map(({ points }) =>
    Math.max(...points.map(({ playersMaximum }) => playersMaximum)),
  );
  const averages = total.points.map(({ playersAverage }) => playersAverage);
  const peak = Math.round(Math.max(playing, ...averages, ...maxima));
  const online = servers.filter(({ server }) => server.isOnline).length;
  return (
    <section class="overview" aria-labelledby="community">
      <div class="overview-words">
        <h1 id="community" dir="auto">
          {site.name}
        </h1>
        <OverallState visit={visit} servers={servers} />
      </div>
      <Facts
        class="numbers"
        facts={[
          [t.numbers.players, playing],
          [
            t.numbers.online,
            <>
              {online}
              <span class="slots"> / {servers.length}</span>
            </>,
          ],
          [t.numbers.peak, peak],
        ]}
      />
      {total.points.length > 1 && <Sparkline series={total} until={visit.now} top={peak * 1.15} />}
    </section>
  );
}

/** Whether all, some or no servers are online; those that have not been checked yet count as neither online nor offline. */
function OverallState({ visit, servers }: Pick<StatusPageProps, 'visit' | 'servers'>): JSX.Element {
  const t = textsOf(visit.language).status;
  const checked = servers.filter(({ server }) => server.updatedAt !== undefined && !server.uncheckedSince);
  const offline = checked.filter(({ server }) => !server.isOnline).length;
  const unchecked = servers.length - checked.length;
  if (checked.length === 0) {
    const latest = Math.max(...servers.map(({ server }) => server.uncheckedSince?.getTime() ?? 0));
    return (
      <p class="verdict is-unknown">
        {latest === 0 ? (
          t.states.unknown
        ) : (
          <>
            {t.allUncheckedSince} <FullMoment at={new Date(latest)} visit={visit} />
          </>
        )}
      </p>
    );
  }
  const [kind, text] =
    offline === servers.length
      ? (['offline', t.allOffline] as const)
      : offline > 0
        ? (['full', t.someOffline(offline)] as const)
        : unchecked > 0
          ? (['unknown', t.someUnchecked(unchecked)] as const)
          : (['online', t.allOnline] as const);
  return (
    <p class={`verdict is-${kind}`}>
      <span class="dot" aria-hidden="true"></span>
      {text}
    </p>
  );
}

type LiveProps = { visit: Visit; servers: readonly ServerView[] };

/** When the data was last updated, and that the page updates automatically. */
export function LiveLine({ visit, servers }: LiveProps): JSX.Element | null {
  const t = textsOf(visit.language).status;
  const latest = Math.max(...servers.map(({ updatedAt }) => updatedAt?.getTime() ?? 0));
  if (latest <= 0) return null;
  return (
    <p class="live-line">
      <span>{t.updatesAutomatically}</span>
      <span>
        {t.updated} <FullMoment at={new Date(latest)} visit={visit} />
      </span>
    </p>
  );
}

function NoServers({ site, visit }: { site: Site; visit: Visit }): JSX.Element {
  const t = textsOf(visit.language).status;
  return (
    <section class="no-servers" aria-labelledby="community">
      <div class="hero-mark">
        <Icon name="mark" />
      </div>
      <p class="no-servers-site" dir="auto">
        {site.name}
      </p>
      <h1 id="community">{t.none}</h1>
      <p class="hero-lead">{t.noneLead}</p>
      <div class="card">
        <p>{t.noneHow}</p>
        <CopyableText id="add-server" label={t.addCommand} text={ADD_COMMAND} visit={visit} />
        <p>{t.noneShown}</p>
        <CopyableText id="show-servers" label={t.showCommand} text={SHOW_COMMAND} visit={visit} />
      </div>
    </section>
  );
}

type ServerCardProps = {
  server: ServerView;
  /** The last 24 hours; undefined when they cannot be loaded. */
  history: Series | undefined;
  visit: Visit;
};

/** One server on the status page. */
function ServerCard({ server, history, visit }: ServerCardProps): JSX.Element {
  const t = textsOf(visit.language).status;
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
          <Facts
            class="server-facts"
            facts={[
              [t.map, <MapName map={server.map} />],
              [<span title={t.pingHint}>{t.ping}</span>, t.milliseconds(server.pingMs)],
            ]}
          />
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
          <p class="hint">{history ? t.noHistory : textsOf(visit.language).server.unavailable}</p>
        )}
      </div>
      <ConnectRow server={server} visit={visit} />
    </li>
  );
}
