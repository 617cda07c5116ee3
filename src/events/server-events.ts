import type { ServerStatus } from '../queries/servers/servers.ts';

/** Changes of a server from one poll to the next. */
export const SERVER_EVENT_TYPES = ['server.up', 'server.down', 'server.map', 'server.players'] as const;
export type ServerEventType = (typeof SERVER_EVENT_TYPES)[number];

export type ServerEvent = { type: ServerEventType; occurredAt: Date; server: ServerStatus };

/**
 * The changes between two readings of the servers. Servers that are new, hidden or removed cause no event; `server.up`
 * comes without events for map and players.
 */
export function compareServers(
  before: readonly ServerStatus[],
  after: readonly ServerStatus[],
): ServerEvent[] {
  const known = new Map(before.map((status) => [status.server.id, status.snapshot]));
  return after.flatMap((status) => {
    const { server, snapshot } = status;
    if (!known.has(server.id) || !snapshot) return [];
    const old = known.get(server.id);
    const event = (type: ServerEventType) => ({
      type,
      occurredAt: snapshot.polledAt,
      server: status,
    });
    if (snapshot.isOnline !== (old?.isOnline ?? false)) {
      return [event(snapshot.isOnline ? 'server.up' : 'server.down')];
    }
    if (!snapshot.isOnline || !old) return [];
    return [
      ...(snapshot.map === old.map ? [] : [event('server.map')]),
      ...(snapshot.playersCount === old.playersCount && snapshot.maxPlayers === old.maxPlayers
        ? []
        : [event('server.players')]),
    ];
  });
}
