import type { JSX } from 'hono/jsx/jsx-runtime';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { isFull, type ServerView } from '../../../src/live/server-view.ts';
import { CopyableText } from '../layout/copy-button.tsx';
import { Facts } from '../layout/facts.tsx';
import { Icon } from '../layout/icons.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import type { Visit } from '../request/visit.ts';
import { describe } from './server-page.tsx';
import {
  bannerPathOf,
  LastSeen,
  MapName,
  Occupancy,
  ServerState,
  serverPathOf,
  steamAddressOf,
} from './server-parts.tsx';

type ConnectPageProps = { site: Site; visit: Visit; server: ServerView };

/** The target of the bot's Connect button on Discord, with a link that opens the game; nothing opens without a click. */
export function ConnectPage({ site, visit, server }: ConnectPageProps): JSX.Element {
  const texts = textsOf(visit.locale);
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
        <div class="server-head">
          <h1 id="server-name">
            <bdi>{server.name}</bdi>
          </h1>
          <ServerState server={server} visit={visit} />
        </div>
        {server.isOnline ? (
          <div class="server-strip">
            <Facts class="server-facts" facts={[[texts.status.map, <MapName map={server.map} />]]} />
            <Occupancy server={server} visit={visit} />
          </div>
        ) : (
          <LastSeen server={server} visit={visit} />
        )}
        {(!server.isOnline || isFull(server)) && (
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
            {texts.status.allServers}
          </a>
        </p>
      </section>
    </Layout>
  );
}
