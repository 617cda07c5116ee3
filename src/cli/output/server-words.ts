import { type ServerAddress, tryParseServerAddress } from '../../domain/server-address.ts';
import type { QueryFailureReason } from '../../poll/a2s-protocol.ts';
import type { PollOutcome } from '../../poll/game-server.ts';
import type { ServerStatus } from '../../queries/servers/servers.ts';
import { describeMoment } from './print.ts';

export const SERVER_HEADER = ['SLUG', 'NAME', 'ADDRESS', 'MODE', 'REGION', 'STATUS', 'PLAYERS', 'LAST SEEN'];

/** Link-local addresses, which Steam Datagram Relay gives to game servers. */
const STEAM_RELAY = /^169\.254\.\d+\.\d+$/;

/** A server as a row of a table. */
export function describeServer({ server, snapshot }: ServerStatus): string[] {
  const isOnline = snapshot?.isOnline === true;
  return [
    server.slug,
    server.name,
    server.address,
    server.mode,
    server.region,
    server.isHidden ? 'hidden' : isOnline ? 'online' : snapshot ? 'offline' : 'not polled yet',
    !server.isHidden && isOnline ? `${snapshot.playersCount}/${snapshot.maxPlayers}` : '-',
    snapshot?.seenAt ? describeMoment(snapshot.seenAt) : 'never',
  ];
}

/** Whether a server responded to a query, and what to do if not. */
export function describeQueryOutcome(address: string, outcome: PollOutcome): string {
  if (outcome.hasResponded) {
    const { map, playersCount, maxPlayers, pingMs } = outcome.state;
    return `responds: ${map} ${playersCount}/${maxPlayers}, ${pingMs} ms`;
  }
  return `warning: ${address} does not respond: ${advise(outcome.reason, tryParseServerAddress(address))}`;
}

function advise(reason: QueryFailureReason, address: ServerAddress | undefined): string {
  const port = address?.port;
  if (address && STEAM_RELAY.test(address.host)) {
    return "it is an address of the Steam relay network, which cannot be queried from outside: use the server's own address";
  }
  if (reason === 'host-unknown') return 'its host name has no address';
  if (reason === 'banned-by-server') return 'the game server has banned the address of this machine';
  if (reason === 'no-game') return 'it has no map yet, or is not a game server';
  if (reason === 'malformed') return `whatever responds on UDP port ${port} is not a game server`;
  if (reason === 'refused') return `nothing listens on UDP port ${port}: is the game server running?`;
  return `open UDP port ${port} of the game server for this machine`;
}
