import {
  type A2sInfo,
  type A2sPlayer,
  buildInfoRequest,
  buildPlayersRequest,
  createPacketReader,
  createSplitResponses,
  parseInfo,
  parsePlayers,
  QueryFailure,
  RESPONSE_TYPES,
  SPLIT_PACKET,
  WHOLE_PACKET,
} from './a2s-protocol.ts';
import type { ServerSocket } from './server-socket.ts';

/** Queries one server, one request at a time. Times are those of `performance.now()`. */
type A2sClient = {
  /** @throws {QueryFailure} when no complete response has arrived by `untilMs`. */
  askInfo: (options: { untilMs: number }) => Promise<A2sInfo>;
  /**
   * The players that the server names: none if it does not respond by `untilMs`, or not as it should. A server that has
   * responded to A2S_INFO is online without them.
   * @throws {QueryFailure} `aborted`.
   */
  askPlayers: (info: A2sInfo, options: { untilMs: number }) => Promise<A2sPlayer[]>;
  /** The shortest round trip in milliseconds, at least 1, since 0 means offline. */
  pingMs: () => number;
};

/** How often a request is repeated without a response. */
const REPEATS = 2;
/** How many new challenges are accepted for one request. */
const MAX_CHALLENGES = 3;
/** More than a server can need: three copies of two responses of 32 parts are 192. */
const MAX_DATAGRAMS = 256;

/** What arrived instead of a response: no datagram, or others. */
type NoResponse = 'nothing' | 'other';

/** Creates a client over a socket that nothing else uses. */
export function createA2sClient(socket: ServerSocket): A2sClient {
  const splitResponses = createSplitResponses();
  let challenge: number | undefined;
  let minMs = Number.POSITIVE_INFINITY;
  let datagrams = 0;

  /** The body of a packet once it is complete; undefined while parts are missing, and for datagrams that are not A2S. */
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
   * Sends a request, and again with each new challenge, until a response of this type arrives.
   * @returns the body after the type; if it has not arrived by `untilMs`, whether anything else has.
   */
  function ask(
    buildRequest: (challenge: number | undefined) => Buffer,
    { responseType, untilMs }: { responseType: number; untilMs: number },
  ): Promise<Buffer | NoResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer | NoResponse>();
    let received: NoResponse = 'nothing';
    let challenges = 0;
    let sentAtMs = 0;
    let resending: ReturnType<typeof setInterval> | undefined;
    const deadline = setTimeout(() => settle(received), remainingMs(untilMs));

    function settle(outcome: Buffer | NoResponse | QueryFailure): void {
      clearTimeout(deadline);
      clearInterval(resending);
      socket.stopListening();
      if (outcome instanceof QueryFailure) reject(outcome);
      else resolve(outcome);
    }

    function sendWithRepeats(): void {
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
        remainingMs(untilMs) / (REPEATS + 1),
      );
      send();
    }

    /** Measured from the first copy of the request: a response may be to any copy, and a ping must not be too short. */
    function noteRoundTrip(): void {
      minMs = Math.min(minMs, performance.now() - sentAtMs);
    }

    function handleDatagram(datagram: Buffer): void {
      const body = readBody(datagram);
      const type = body?.[0];
      if (type === RESPONSE_TYPES.banned) throw new QueryFailure('banned-by-server');
      if (body && type === responseType) {
        noteRoundTrip();
        settle(body.subarray(1));
        return;
      }
      const newChallenge = body && type === RESPONSE_TYPES.challenge ? readChallenge(body) : undefined;
      // The same challenge again: a duplicate datagram, or a server that does not accept its own challenge.
      if (newChallenge === undefined || newChallenge === challenge) {
        received = 'other';
        return;
      }
      challenges += 1;
      if (challenges > MAX_CHALLENGES) throw new QueryFailure('malformed');
      noteRoundTrip();
      challenge = newChallenge;
      sendWithRepeats();
    }

    sendWithRepeats();
    socket.listen({
      onFailure: settle,
      onDatagram: (datagram) => {
        try {
          handleDatagram(datagram);
        } catch (error) {
          settle(error instanceof QueryFailure ? error : new QueryFailure('malformed', { cause: error }));
        }
      },
    });
    return promise;
  }

  return {
    askInfo: async ({ untilMs }) => {
      const response = await ask(buildInfoRequest, { responseType: RESPONSE_TYPES.info, untilMs });
      if (response === 'nothing') throw new QueryFailure('time-out');
      if (response === 'other') throw new QueryFailure('malformed');
      return parseInfo(response);
    },
    askPlayers: async (info, { untilMs }) => {
      try {
        const response = await ask(buildPlayersRequest, { responseType: RESPONSE_TYPES.players, untilMs });
        return typeof response === 'string' ? [] : parsePlayers(response, info);
      } catch (error) {
        if (error instanceof QueryFailure && error.reason !== 'aborted') return [];
        throw error;
      }
    },
    pingMs: () => Math.max(1, Math.round(minMs)),
  };
}

/** @param body including the type. @throws {QueryFailure} `malformed` when it is truncated. */
function readChallenge(body: Buffer): number {
  const reader = createPacketReader(body);
  reader.skip(1);
  return reader.readUint32();
}

/** Milliseconds, at least 1. */
function remainingMs(momentMs: number): number {
  return Math.max(1, momentMs - performance.now());
}
