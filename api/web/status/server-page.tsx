import type { JSX } from 'hono/jsx/jsx-runtime';
import { type Series, uptimeOf } from '../../../src/charts/series.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { isFull, mapNameOf, type ServerView } from '../../../src/live/server-view.ts';
import type { PlayedMaps } from '../../../src/queries/servers/samples.ts';
import { Card } from '../layout/card.tsx';
import { CopyableText } from '../layout/copy-button.tsx';
import { type Fact, Facts } from '../layout/facts.tsx';
import { Icon } from '../layout/icons.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import type { Texts } from '../locales/en.ts';
import { textsOf } from '../locales/texts.ts';
import type { Visit } from '../request/visit.ts';
import { CHART_RANGES, type ChartRange, formatShare, HistoryChart, UptimeBars } from './charts.tsx';
import {
  bannerPathOf,
  ConnectRow,
  LastSeen,
  MapName,
  Occupancy,
  ServerState,
  serverPathOf,
  steamAddressOf,
} from './server-parts.tsx';
import { LiveLine, REFRESH_SECONDS } from './status-page.tsx';

type ServerPageProps = {
  site: Site;
  visit: Visit;
  server: ServerView;
  /** By range; undefined when one cannot be loaded. */
  histories: Record<ChartRange['name'], Series | undefined>;
  /** Of the last 30 days; undefined when they cannot be loaded. */
  maps: PlayedMaps | undefined;
};

/** The page of one server: its current state and its history. */
export function ServerPage(props: ServerPageProps): JSX.Element {
  const { site, visit, server, histories, maps } = props;
  const texts = textsOf(visit.language);
  const t = texts.server;
  const banner = bannerPathOf(server);
  const page = `${site.publicUrl}${serverPathOf(server)}`;
  const uptime = histories.month && uptimeOf(histories.month);
  return (
    <Layout
      site={site}
      visit={visit}
      title={isolate(server.name)}
      preview={{ description: describe(server, visit), imagePath: banner }}
      scripts={['status.js']}
      refreshSeconds={REFRESH_SECONDS}
    >
      <div data-live data-lost={texts.status.lostConnection}>
        <p class="trail">
          <a href="/">{texts.penalties.allServers}</a>
        </p>
        <ServerHead server={server} visit={visit} />
        <div class="stack">
          <Card id="players" title={t.playersNow} aside={server.isOnline && occupancyOf(server)}>
            <PlayerList server={server} visit={visit} />
          </Card>
          <Card id="history" title={t.history}>
            <div class="charts">
              {CHART_RANGES.map((range) => (
                <HistoryChart
                  range={range}
                  serverName={server.name}
                  series={histories[range.name]}
                  visit={visit}
                />
              ))}
            </div>
          </Card>
          <div class="server-columns stack">
            <Card
              id="uptime"
              title={t.uptime}
              aside={uptime !== undefined && formatShare(visit.language, uptime)}
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
            <Card id="banner" title={t.banner}>
              <img
                class="banner"
                src={banner}
                alt={t.bannerAlt(isolate(server.name))}
                width="560"
                height="95"
                loading="lazy"
              />
              <CopyableText
                id="banner-code"
                label={t.bannerCode}
                text={`[url=${page}][img]${site.publicUrl}${banner}[/img][/url]`}
                visit={visit}
              />
            </Card>
          </div>
        </div>
        <LiveLine visit={visit} servers={[server]} />
      </div>
    </Layout>
  );
}

function ServerHead({ server, visit }: { server: ServerView; visit: Visit }): JSX.Element {
  const t = textsOf(visit.language).status;
  const facts: Fact[] = [
    [t.map, server.map && <MapName map={server.map} />],
    [t.mode, server.mode],
    [t.region, server.region],
    [
      t.ping,
      server.isOnline && (
        <>
          {t.milliseconds(server.pingMs)} <span class="hint">({t.pingHint})</span>
        </>
      ),
    ],
  ];
  return (
    <section class="card server-top" aria-labelledby="server-name">
      <ServerTitle server={server} visit={visit} />
      {server.hostname !== '' && server.hostname !== server.name && (
        <p class="server-kind">
          <bdi>{server.hostname}</bdi>
        </p>
      )}
      <div class="server-strip">
        <Facts class="server-facts" facts={facts} />
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

/** The name and state of a server; the name labels its section. */
function ServerTitle({ server, visit }: { server: ServerView; visit: Visit }): JSX.Element {
  return (
    <div class="server-head">
      <h1 id="server-name">
        <bdi>{server.name}</bdi>
      </h1>
      <ServerState server={server} visit={visit} />
    </div>
  );
}

/** The current players, highest score first. */
function PlayerList({ server, visit }: { server: ServerView; visit: Visit }): JSX.Element {
  const { server: t, penalties } = textsOf(visit.language);
  if (server.uncheckedSince) return <LastSeen server={server} visit={visit} />;
  if (!server.isOnline) return <p class="empty">{t.whileOffline}</p>;
  const unnamed = server.playersCount - server.players.length;
  if (server.players.length === 0) return <p class="empty">{unnamed > 0 ? t.namesUnknown : t.nobody}</p>;
  const hasTimes = server.players.some(({ seconds }) => seconds !== undefined);
  return (
    <>
      {/* Split over columns where there is room. */}
      <div class="player-columns">
        <table class="players">
          <thead>
            <tr>
              <th scope="col">{penalties.columns.player}</th>
              {hasTimes && <th scope="col">{t.time}</th>}
              <th scope="col">{t.score}</th>
            </tr>
          </thead>
          <tbody>
            {server.players.map(({ name, score, seconds }) => (
              <tr>
                <td>
                  <bdi>{name}</bdi>
                </td>
                {hasTimes && <td>{seconds === undefined ? '–' : formatHours(seconds, t)}</td>}
                <td>{score}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {unnamed > 0 && <p class="hint">{t.moreUnnamed(unnamed)}</p>}
    </>
  );
}

/**
 * The maps by time played, longest first, as a list of bars.
 * @param props.played undefined when they cannot be loaded.
 */
function MapList({ played, visit }: { played: PlayedMaps | undefined; visit: Visit }): JSX.Element {
  const t = textsOf(visit.language).server;
  if (!played) return <p class="empty">{t.unavailable}</p>;
  const { maps, others } = played;
  const longestSeconds = maps[0]?.seconds ?? 0;
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
                width={longestSeconds > 0 ? Math.max(Math.round((seconds / longestSeconds) * 100), 1) : 100}
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

/** The description in link previews: `Online · de_mirage · 7 of 24 players`. */
function describe(server: ServerView, { language }: Visit): string {
  const t = textsOf(language).status;
  if (!server.isOnline) return server.uncheckedSince ? t.unchecked : t.states.offline;
  return [t.states.online, server.map, t.playersOf(server.playersCount, server.maxPlayers)]
    .filter((text) => text !== '')
    .join(' · ');
}

function occupancyOf({ playersCount, maxPlayers }: ServerView): string {
  return maxPlayers > 0 ? `${playersCount} / ${maxPlayers}` : String(playersCount);
}

type ConnectPageProps = { site: Site; visit: Visit; server: ServerView };

/** The target of the bot's Connect button on Discord, with a link that opens the game; nothing opens without a click. */
export function ConnectPage({ site, visit, server }: ConnectPageProps): JSX.Element {
  const texts = textsOf(visit.language);
  const t = texts.connect;
  const steam = steamAddressOf(server);
  return (
    <Layout
      site={site}
      visit={visit}
      title={t.title(isolate(server.name))}
      preview={{ description: describe(server, visit), imagePath: bannerPathOf(server) }}
    >
      <section class="card narrow connect" aria-labelledby="server-name">
        <ServerTitle server={server} visit={visit} />
        {server.isOnline ? (
          <div class="server-strip">
            <Facts class="server-facts" facts={[[texts.status.map, <MapName map={server.map} />]]} />
            <Occupancy server={server} visit={visit} />
          </div>
        ) : (
          <LastSeen server={server} visit={visit} />
        )}
        {!server.uncheckedSince && (!server.isOnline || isFull(server)) && (
          <p class="warning">
            <Icon name="warning" />
            <span>{server.isOnline ? t.full : t.offline}</span>
          </p>
        )}
        {steam === undefined ? (
          <p class="empty">{t.noAddress}</p>
        ) : (
          <>
            <p>
              <a class="button button-primary button-large connect-open" href={steam}>
                {t.open}
              </a>
            </p>
            <p class="hint">{t.openHint}</p>
            <h2 class="minor">{t.console}</h2>
            <CopyableText
              id="console-line"
              label={t.consoleLabel}
              text={`connect ${server.address}`}
              visit={visit}
            />
            <p class="hint">{t.consoleHint}</p>
          </>
        )}
        <p class="row">
          <a class="button button-quiet" href={serverPathOf(server)}>
            {t.details}
          </a>
          <a class="button button-quiet" href="/">
            {texts.penalties.allServers}
          </a>
        </p>
      </section>
    </Layout>
  );
}
