import {
  type A2sInfo,
  type A2sPlayer,
  buildInfoRequest,
  buildPlayersRequest,
  parseInfo,
  parsePlayers,
  RESPONSE_TYPES,
  SPLIT_PACKET,
  WHOLE_PACKET,
} from './a2s-protocol.ts';
import { createPacketReader } from './packet-reader.ts';
import { QueryFailure } from './query-failure.ts';
import type { ServerSocket } from './server-socket.ts';
import { createSplitResponses } from './split-response.ts';

/** Asks one server, one request at a time. Moments are those of `performance.now()`. */
export type A2sClient = {
  /** @throws {QueryFailure} when no whole response has come by `untilMs`. */
  askInfo: (options: { untilMs: number }) => Promise<A2sInfo>;
  /** @returns undefined when no response has come by `untilMs`. @throws {QueryFailure} for a malformed one. */
  askPlayers: (info: A2sInfo, options: { untilMs: number }) => Promise<A2sPlayer[] | undefined>;
  /** Shortest round trip in milliseconds, at least 1: 0 means offline. */
  pingMs: () => number;
};

/** How often a request is sent again when nothing comes back. */
const REPEATS = 2;
/** How many new challenges one request follows. */
const MAX_CHALLENGES = 3;
/** Three copies of two responses of 32 parts are 192; more is not a response. */
const MAX_DATAGRAMS = 256;

/** Speaks A2S over a socket of its own. */
export function createA2sClient(socket: ServerSocket): A2sClient {
  const splitResponses = createSplitResponses();
  let challenge: number | undefined;
  let shortestMs = Number.POSITIVE_INFINITY;
  let datagrams = 0;

  /** The body of the packet that a datagram is, or completes; undefined while parts are missing, and for what is not A2S. */
  function readBody(datagram: Buffer): Buffer | undefined {
    datagrams += 1;
    if (datagrams > MAX_DATAGRAMS) throw new QueryFailure('malformed');
    if (datagram.length < 5) return undefined;
    const header = datagram.readUInt32LE(0);
    if (header === WHOLE_PACKET) return datagram.subarray(4);
    if (header !== SPLIT_PACKET) return undefined;
    const whole = splitResponses.add(datagram.subarray(4));
    if (!whole) return undefined;
    if (whole.length < 5 || whole.readUInt32LE(0) !== WHOLE_PACKET) throw new QueryFailure('malformed');
    return whole.subarray(4);
  }

  /**
   * Sends a request until a response of this type comes, again with each new challenge.
   * @returns what follows the type; when it has not come by `untilMs`, what came instead.
   */
  function ask(
    buildRequest: (challenge: number | undefined) => Buffer,
    { responseType, untilMs }: { responseType: number; untilMs: number },
  ): Promise<Buffer | 'silence' | 'noise'> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer | 'silence' | 'noise'>();
    let heard: 'silence' | 'noise' = 'silence';
    let challenges = 0;
    let sentAtMs = 0;
    let resending: ReturnType<typeof setInterval> | undefined;
    const deadline = setTimeout(() => settle(heard), leftUntil(untilMs));

    function settle(outcome: Buffer | typeof heard | QueryFailure): void {
      clearTimeout(deadline);
      clearInterval(resending);
      socket.stopListening();
      if (outcome instanceof QueryFailure) reject(outcome);
      else resolve(outcome);
    }

    function begin(): void {
      const send = () => socket.send(buildRequest(challenge));
      let repeats = 0;
      clearInterval(resending);
      sentAtMs = performance.now();
      resending = setInterval(
        () => {
          repeats += 1;
          if (repeats === REPEATS) clearInterval(resending);
          send();
        },
        leftUntil(untilMs) / (REPEATS + 1),
      );
      send();
    }

    /** Since the first copy of the request: which copy is answered is unknown, and so a ping is never too short. */
    function noteRoundTrip(): void {
      shortestMs = Math.min(shortestMs, performance.now() - sentAtMs);
    }

    function hear(datagram: Buffer): void {
      const body = readBody(datagram);
      const type = body?.[0];
      if (type === RESPONSE_TYPES.banned) throw new QueryFailure('banned-by-server');
      if (body && type === responseType) {
        noteRoundTrip();
        settle(body.subarray(1));
        return;
      }
      const given = body && type === RESPONSE_TYPES.challenge ? readChallenge(body) : undefined;
      // The same once more: a second copy, or a server that takes no challenge.
      if (given === undefined || given === challenge) {
        heard = 'noise';
        return;
      }
      challenges += 1;
      if (challenges > MAX_CHALLENGES) throw new QueryFailure('malformed');
      noteRoundTrip();
      challenge = given;
      begin();
    }

    begin();
    socket.listen({
      onFailure: settle,
      onDatagram: (datagram) => {
        try {
          hear(datagram);
        } catch (error) {
          settle(error instanceof QueryFailure ? error : new QueryFailure('malformed', { cause: error }));
        }
      },
    });
    return promise;
  }

  return {
    askInfo: async ({ untilMs }) => {
      const heard = await ask(buildInfoRequest, { responseType: RESPONSE_TYPES.info, untilMs });
      if (heard === 'silence') throw new QueryFailure('time-out');
      if (heard === 'noise') throw new QueryFailure('malformed');
      return parseInfo(heard);
    },
    askPlayers: async (info, { untilMs }) => {
      const heard = await ask(buildPlayersRequest, { responseType: RESPONSE_TYPES.players, untilMs });
      return typeof heard === 'string' ? undefined : parsePlayers(heard, info);
    },
    pingMs: () => Math.max(1, Math.round(shortestMs)),
  };
}

/** @param body the type and what follows it. @throws {QueryFailure} `malformed` when it is cut. */
function readChallenge(body: Buffer): number {
  const reader = createPacketReader(body);
  reader.skip(1);
  return reader.readUint32();
}

/** Milliseconds, at least 1. */
function leftUntil(momentMs: number): number {
  return Math.max(1, momentMs - performance.now());
}
