import { type ServerStatus, shownAddressOf } from '../queries/servers/servers.ts';

type Snapshot = NonNullable<ServerStatus['snapshot']>;

/** What messages and pages show of one server; `map` is without its path. Players that have no name are left out. */
export type ServerView = Pick<
  ServerStatus['server'],
  'id' | 'slug' | 'name' | 'mode' | 'region' | 'position'
> &
  Pick<Snapshot, 'hostname' | 'map' | 'isOnline' | 'playersCount' | 'maxPlayers' | 'pingMs' | 'players'> & {
    /** The one that players use. */
    address: string;
    /** The last poll; undefined before the first. */
    updatedAt: Date | undefined;
    /** The last poll to which the server responded. */
    seenAt: Date | undefined;
    /** Since when every poll has found the server full; undefined while it is not full, or is offline. */
    fullSince: Date | undefined;
  };

/** A server with its latest poll, which has no players while the server is offline; then without the map of earlier polls. */
export function toServerView({ server, snapshot }: ServerStatus): ServerView {
  const isOnline = snapshot?.isOnline ?? false;
  const { id, slug, name, mode, region, position } = server;
  return {
    id,
    slug,
    name,
    address: shownAddressOf(server),
    mode,
    region,
    position,
    hostname: snapshot?.hostname ?? '',
    map: isOnline ? mapNameOf(snapshot?.map ?? '') : '',
    isOnline,
    playersCount: snapshot?.playersCount ?? 0,
    maxPlayers: snapshot?.maxPlayers ?? 0,
    pingMs: snapshot?.pingMs ?? 0,
    players: snapshot?.players ?? [],
    updatedAt: snapshot?.polledAt,
    seenAt: snapshot?.seenAt ?? undefined,
    fullSince: snapshot?.fullSince ?? undefined,
  };
}

/**
 * Servers in the order of pages and messages: those that are online first, then by position, then by name.
 * @param statuses by name.
 */
export function listServerViews(statuses: readonly ServerStatus[]): ServerView[] {
  return statuses
    .map(toServerView)
    .sort((a, b) => Number(b.isOnline) - Number(a.isOnline) || a.position - b.position);
}

/** Whether all slots of a server are taken. */
export function isFull({
  playersCount,
  maxPlayers,
}: Pick<ServerView, 'playersCount' | 'maxPlayers'>): boolean {
  return maxPlayers > 0 && playersCount >= maxPlayers;
}

/** A map's name without its path: a Workshop map is reported as `workshop/3070284539/de_cache`. Empty if it has none. */
export function mapNameOf(map: string): string {
  return map.split('/').findLast((part) => part !== '') ?? '';
}
