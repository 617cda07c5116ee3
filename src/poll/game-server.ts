import { tryParseServerAddress } from '../domain/server-address.ts';
import { hasVisibleCharacter } from '../domain/text/visible-text.ts';
import type { ServerState } from '../queries/servers/polls.ts';
import { resolveHost } from '../runtime/resolve-host.ts';
import { type A2sResponses, queryA2s } from './a2s-client.ts';
import { QueryFailure, type QueryFailureReason } from './a2s-protocol.ts';

/** The outcome of a query; a server that does not respond is a value, not an error. */
export type PollOutcome =
  | { hasResponded: true; state: ServerState }
  | { hasResponded: false; reason: QueryFailureReason };

/** Longest name and host name kept, in characters; Steam allows 32 in a name. */
const MAX_TEXT_LENGTH = 256;

/**
 * Queries a game server for its state and players over A2S.
 * A server that responds only to A2S_INFO has responded, without players.
 * @param address `host:port`; a host name is looked up, IPv4 first.
 * @param timeoutMs for everything together, resolving included.
 * @param signal aborts the query; the poll is then missed.
 */
export async function queryGameServer(
  address: string,
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
): Promise<PollOutcome> {
  const deadlineMs = performance.now() + timeoutMs;
  try {
    const target = tryParseServerAddress(address);
    // A row that `addServer` did not write may have an invalid address.
    if (!target) throw new QueryFailure('host-unknown');
    const host = await resolveToOne(target.host, { timeoutMs });
    const responses = await queryA2s({ host, port: target.port }, { deadlineMs, signal });
    return { hasResponded: true, state: toState(responses) };
  } catch (error) {
    if (error instanceof QueryFailure) return { hasResponded: false, reason: error.reason };
    throw error;
  }
}

/** Preferably an IPv4 address. @throws {QueryFailure} `host-unknown`. */
async function resolveToOne(host: string, options: { timeoutMs: number }): Promise<string> {
  try {
    const addresses = await resolveHost(host, options);
    return (addresses.find(({ family }) => family === 4) ?? addresses[0])?.address ?? host;
  } catch (cause) {
    throw new QueryFailure('host-unknown', { cause });
  }
}

/** A server that subtracts its bots can count below zero, which arrives as some 254. */
const MOST_PLAYERS = 64;

function toState({ info, players, pingMs }: A2sResponses): ServerState {
  const title = clean(info.hostname).trim();
  const namedPlayers = players.map(({ name, score, seconds }) => ({
    name: clean(name),
    score,
    ...(isTimePlayed(seconds) && { seconds: Math.round(seconds) }),
  }));
  const listed = namedPlayers.filter(({ name }) => hasVisibleCharacter(name));
  const isCount = info.playersCount <= Math.max(info.maxPlayers, MOST_PLAYERS);
  return {
    hostname: hasVisibleCharacter(title) ? title : '',
    map: clean(info.map),
    playersCount: isCount ? info.playersCount : listed.length,
    maxPlayers: info.maxPlayers,
    pingMs,
    players: listed.sort((a, b) => b.score - a.score),
  };
}

/** Plugins that make up players send 0, a negative number or NaN; no server runs for longer than a year. */
function isTimePlayed(seconds: number): boolean {
  return seconds >= 1 && seconds < 365 * 86_400;
}

/** Removes control characters: NUL, which PostgreSQL refuses, and the game's colour codes. */
function clean(text: string): string {
  return [...text.replace(/\p{Cc}/gu, '')].slice(0, MAX_TEXT_LENGTH).join('');
}
