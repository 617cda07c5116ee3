import type { JSX } from 'hono/jsx/jsx-runtime';
import { tryParseServerAddress } from '../../../src/domain/server-address.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { isFull, type ServerView } from '../../../src/live/server-view.ts';
import { CopyButton } from '../layout/copy-button.tsx';
import { FullMoment, Moment } from '../layout/moment.tsx';
import { textsOf } from '../locales/texts.ts';
import type { Visit } from '../request/visit.ts';

/** The path of a server's page. */
export function serverPathOf({ slug }: Pick<ServerView, 'slug'>): string {
  return `/servers/${encodeURIComponent(slug)}`;
}

/** The path of a server's banner for forums and link previews. */
export function bannerPathOf(server: Pick<ServerView, 'slug'>): string {
  return `${serverPathOf(server)}/banner.png`;
}

type ServerProps = { server: ServerView; visit: Visit };

/** The state of a server (online, full, offline or unknown), as a dot and a word. */
export function ServerState({ server, visit }: ServerProps): JSX.Element {
  const { states, unchecked } = textsOf(visit.language).status;
  const state = stateOf(server);
  return (
    <span class={`server-state is-${state}`}>
      <span class="dot" aria-hidden="true"></span>
      {server.uncheckedSince ? unchecked : states[state]}
    </span>
  );
}

function stateOf(server: ServerView) {
  if (server.updatedAt === undefined || server.uncheckedSince) return 'unknown';
  if (!server.isOnline) return 'offline';
  return isFull(server) ? 'full' : 'online';
}

/** The number of players, as text above a bar. */
export function Occupancy({ server, visit }: ServerProps): JSX.Element {
  const t = textsOf(visit.language).status;
  const { playersCount, maxPlayers } = server;
  const share = maxPlayers > 0 ? Math.min(playersCount / maxPlayers, 1) : 0;
  return (
    <p class="occupancy">
      <span aria-hidden="true">
        <strong>{playersCount}</strong>
        {maxPlayers > 0 && <span class="slots"> / {maxPlayers}</span>}
      </span>
      <span class="sr-only">{t.playersOf(playersCount, maxPlayers)}</span>
      <svg class="bar-fill" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
        <rect width={Math.round(share * 100)} height="1" />
      </svg>
    </p>
  );
}

/** A map's name, which wraps after underscores and hyphens only. */
export function MapName({ map }: { map: string }): JSX.Element {
  return (
    <bdi>
      {(map || '–').split(/(?<=[_-])/).map((part, index) => (
        <>
          {index > 0 && <wbr />}
          {part}
        </>
      ))}
    </bdi>
  );
}

/** When an offline server was last online, or when it was last checked if that was long ago. */
export function LastSeen({ server, visit }: ServerProps): JSX.Element {
  const t = textsOf(visit.language).status;
  if (server.uncheckedSince) {
    return (
      <p class="last-seen">
        {t.uncheckedSince} <FullMoment at={server.uncheckedSince} visit={visit} />
      </p>
    );
  }
  if (!server.seenAt) return <p class="last-seen">{t.neverSeen}</p>;
  return (
    <p class="last-seen">
      {t.lastSeen} <Moment at={server.seenAt} visit={visit} />
    </p>
  );
}

/** The server's address with a copy button, and the connect button while it is online. */
export function ConnectRow({ server, visit }: ServerProps): JSX.Element {
  const { status: t, connect } = textsOf(visit.language);
  const id = `address-${server.slug}`;
  return (
    <div class="connect-row">
      <span class="address">
        <code id={id}>{server.address}</code>
        <CopyButton target={id} label={t.address(isolate(server.name))} visit={visit} isSmall />
      </span>
      {server.isOnline && (
        <a
          class="button button-primary button-small"
          href={`/connect/${encodeURIComponent(server.slug)}`}
          data-steam={steamAddressOf(server)}
          aria-label={connect.title(isolate(server.name))}
        >
          {t.connect}
        </a>
      )}
    </div>
  );
}

/**
 * The `steam://` address that opens the game and connects. Undefined unless the server's address is HOST:PORT: imported
 * addresses are not validated.
 * @see https://developer.valvesoftware.com/wiki/Steam_browser_protocol
 */
export function steamAddressOf({ address }: Pick<ServerView, 'address'>): string | undefined {
  return tryParseServerAddress(address) && `steam://connect/${address}`;
}
