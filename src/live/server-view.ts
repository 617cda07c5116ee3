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
    /** The last poll, if it was so long ago that nobody knows the state of the server; it then counts as offline. */
    uncheckedSince: Date | undefined;
  };

/**
 * A server with its latest poll, which has no players while the server is offline; then without the map of earlier polls.
 * @param checkedAfter when an older poll says nothing about the server any more.
 */
export function toServerView({ server, snapshot: latest }: ServerStatus, checkedAfter: Date): ServerView {
  const uncheckedSince = latest && latest.polledAt < checkedAfter ? latest.polledAt : undefined;
  const snapshot = uncheckedSince ? undefined : latest;
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
    hostname: latest?.hostname ?? '',
    map: isOnline ? mapNameOf(snapshot?.map ?? '') : '',
    isOnline,
    playersCount: snapshot?.playersCount ?? 0,
    maxPlayers: snapshot?.maxPlayers ?? 0,
    pingMs: snapshot?.pingMs ?? 0,
    players: snapshot?.players ?? [],
    updatedAt: latest?.polledAt,
    seenAt: latest?.seenAt ?? undefined,
    fullSince: snapshot?.fullSince ?? undefined,
    uncheckedSince,
  };
}

/** The order of pages and messages: online servers first, then by position; ties keep their order. */
export function compareServerViews(a: ServerView, b: ServerView): number {
  return Number(b.isOnline) - Number(a.isOnline) || a.position - b.position;
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
