import type { JSX } from 'hono/jsx/jsx-runtime';
import { type Series, uptimeOf } from '../../../src/charts/series.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { mapNameOf, type ServerView } from '../../../src/live/server-view.ts';
import type { PlayedMaps } from '../../../src/queries/servers/maps.ts';
import { Card } from '../layout/card.tsx';
import { CopyableText } from '../layout/copy-button.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import type { Visit } from '../request/visit.ts';
import { CHART_RANGES, type ChartRange, formatShare, HistoryChart, UptimeBars } from './charts.tsx';
import { MapList } from './map-list.tsx';
import { bannerPathOf, serverPathOf } from './paths.ts';
import { PlayerList } from './player-list.tsx';
import { ConnectRow, LastSeen, MapName, Occupancy, ServerState } from './server-parts.tsx';
import { LiveLine, REFRESH_SECONDS } from './status-page.tsx';

export type ServerDetails = {
  server: ServerView;
  /** By range; undefined when one cannot be loaded. */
  histories: Record<ChartRange['name'], Series | undefined>;
  /** Of the last 30 days; undefined when they cannot be loaded. */
  maps: PlayedMaps | undefined;
};

type ServerPageProps = ServerDetails & { site: Site; visit: Visit };

/** The page of one server: its current state and its history. */
export function ServerPage(props: ServerPageProps): JSX.Element {
  const { site, visit, server, histories, maps } = props;
  const texts = textsOf(visit.locale);
  const t = texts.server;
  const uptime = histories.month && uptimeOf(histories.month);
  return (
    <Layout
      site={site}
      visit={visit}
      title={isolate(server.name)}
      preview={{ description: describe(server, visit), imagePath: bannerPathOf(server) }}
      scripts={['status.js']}
      refreshSeconds={REFRESH_SECONDS}
    >
      <div data-live data-lost={texts.status.lostConnection}>
        <p class="trail">
          <a href="/">{texts.status.allServers}</a>
        </p>
        <ServerHead server={server} visit={visit} />
        <div class="server-columns">
          <div class="stack">
            <Card id="history" title={t.history}>
              {CHART_RANGES.map((range) => (
                <HistoryChart
                  range={range}
                  serverName={server.name}
                  series={histories[range.name]}
                  visit={visit}
                />
              ))}
            </Card>
          </div>
          <div class="stack">
            <Card id="players" title={t.playersNow} {...(server.isOnline && { aside: occupancyOf(server) })}>
              <PlayerList server={server} visit={visit} />
            </Card>
            <Card
              id="uptime"
              title={t.uptime}
              {...(uptime !== undefined && { aside: formatShare(visit.locale, uptime) })}
            >
              <p class="hint">{t.uptimeLead}</p>
              {histories.month ? (
                <UptimeBars series={histories.month} visit={visit} />
              ) : (
                <p class="empty">{t.unavailable}</p>
              )}
            </Card>
            <Card id="maps" title={t.maps}>
              <MapList played={maps} visit={visit} />
            </Card>
            <BannerCard site={site} server={server} visit={visit} />
          </div>
        </div>
        <LiveLine visit={visit} servers={[server]} />
      </div>
    </Layout>
  );
}

function ServerHead({ server, visit }: { server: ServerView; visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale).status;
  const facts = [
    [t.map, server.map && <MapName map={server.map} />],
    [t.mode, server.mode],
    [t.region, server.region],
    [<span title={t.pingHint}>{t.ping}</span>, server.isOnline ? t.milliseconds(server.pingMs) : ''],
  ].filter(([, value]) => value !== '');
  return (
    <section class="card server-top" aria-labelledby="server-name">
      <div class="server-head">
        <h1 id="server-name">
          <bdi>{server.name}</bdi>
        </h1>
        <ServerState server={server} visit={visit} />
      </div>
      {server.hostname !== '' && server.hostname !== server.name && (
        <p class="server-kind">
          <bdi>{server.hostname}</bdi>
        </p>
      )}
      <div class="server-strip">
        <dl class="server-facts">
          {facts.map(([label, value]) => (
            <div>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        {server.isOnline ? (
          <Occupancy server={server} visit={visit} />
        ) : (
          <LastSeen server={server} visit={visit} />
        )}
      </div>
      <ConnectRow server={server} visit={visit} />
    </section>
  );
}

/** The server's banner, and the BBCode to embed it in forums. */
function BannerCard({
  site,
  server,
  visit,
}: Pick<ServerPageProps, 'site' | 'server' | 'visit'>): JSX.Element {
  const t = textsOf(visit.locale).server;
  const picture = bannerPathOf(server);
  const page = `${site.publicUrl}${serverPathOf(server)}`;
  return (
    <Card id="banner" title={t.banner}>
      <img
        class="banner"
        src={picture}
        alt={t.bannerAlt(isolate(server.name))}
        width="560"
        height="95"
        loading="lazy"
      />
      <CopyableText
        id="banner-code"
        label={t.bannerCode}
        text={`[url=${page}][img]${site.publicUrl}${picture}[/img][/url]`}
        visit={visit}
      />
    </Card>
  );
}

/** The description in link previews: `Online · de_mirage · 7 of 24 players`. */
export function describe(server: ServerView, { locale }: Visit): string {
  const t = textsOf(locale).status;
  if (!server.isOnline) return t.states.offline;
  return [t.states.online, mapNameOf(server.map), t.playersOf(server.playersCount, server.maxPlayers)]
    .filter((text) => text !== '')
    .join(' · ');
}

function occupancyOf({ playersCount, maxPlayers }: ServerView): string {
  return maxPlayers > 0 ? `${playersCount} / ${maxPlayers}` : String(playersCount);
}
