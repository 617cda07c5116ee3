import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { errorCode } from '../domain/errors.ts';
import {
  type A2sInfo,
  type A2sPlayer,
  buildInfoRequest,
  buildPlayersRequest,
  createPacketReader,
  createPartJoiner,
  parseInfo,
  parsePlayers,
  QueryFailure,
  type QueryFailureReason,
  RESPONSE_TYPES,
  SPLIT_PACKET,
  WHOLE_PACKET,
} from './a2s-protocol.ts';

/** How often a request is sent without a response. */
const COPIES = 3;
/** How many new challenges are accepted for one request. */
const MAX_CHALLENGES = 3;
/** More than a server can need: three copies of two responses of 32 parts are 192. */
const MAX_DATAGRAMS = 256;

export type A2sResponses = {
  info: A2sInfo;
  /** Empty if the server sends no list or an invalid one: it counts as online all the same. */
  players: A2sPlayer[];
  /** The shortest round trip in milliseconds, at least 1, since 0 means offline. */
  pingMs: number;
};

/**
 * Asks a game server for A2S_INFO, then for A2S_PLAYER.
 *
 * The socket is connected to the server: the system then drops datagrams of others, reports a closed port at once, and
 * picks a random local port. One socket for all servers would offer none of this.
 * @param host an IPv4 or IPv6 address.
 * @param options.deadlineMs by `performance.now()`.
 * @throws {QueryFailure} when the server has not responded to A2S_INFO by then.
 */
export async function queryA2s(
  { host, port }: { host: string; port: number },
  { deadlineMs, signal }: { deadlineMs: number; signal: AbortSignal | undefined },
): Promise<A2sResponses> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  const joinParts = createPartJoiner();
  let server: { address: string; port: number } | undefined;
  let failure: QueryFailure | undefined;
  let request: { receive: (datagram: Buffer) => void; reject: (failure: QueryFailure) => void } | undefined;
  let challenge: number | undefined;
  let pingMs = Number.POSITIVE_INFINITY;
  let datagrams = 0;

  /** Fails the running request and every later one. */
  function fail(reason: QueryFailureReason, cause?: unknown): void {
    failure ??= new QueryFailure(reason, { cause });
    request?.reject(failure);
  }
  const failBy = (error: unknown) =>
    fail(errorCode(error) === 'ECONNREFUSED' ? 'refused' : 'unreachable', error);
  const abort = () => fail('aborted');

  /** The body of a packet once it is complete; undefined while parts are missing, and for datagrams that are not A2S. */
  function readBody(datagram: Buffer): Buffer | undefined {
    datagrams += 1;
    if (datagrams > MAX_DATAGRAMS) throw new QueryFailure('malformed');
    if (datagram.length < 5) return undefined;
    const header = datagram.readUInt32LE(0);
    if (header === WHOLE_PACKET) return datagram.subarray(4);
    if (header !== SPLIT_PACKET) return undefined;
    const packet = joinParts(datagram.subarray(4));
    if (!packet) return undefined;
    if (packet.length < 5 || packet.readUInt32LE(0) !== WHOLE_PACKET) throw new QueryFailure('malformed');
    return packet.subarray(4);
  }

  function send(datagram: Buffer): void {
    try {
      socket.send(datagram, (error) => {
        if (error) failBy(error);
      });
    } catch (error) {
      failBy(error);
    }
  }

  /**
   * Sends a request, and again with each new challenge, until a response of this type arrives.
   * @returns the body after the type.
   * @throws {QueryFailure} if it has not arrived by `untilMs`: `malformed` if other datagrams have, else `time-out`.
   */
  async function ask(
    buildRequest: (challenge: number | undefined) => Buffer,
    { responseType, untilMs }: { responseType: number; untilMs: number },
  ): Promise<Buffer> {
    if (failure) throw failure;
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    let hasOthers = false;
    let challenges = 0;
    let sentAtMs = 0;
    let timer: ReturnType<typeof setInterval> | undefined;

    function sendCopies(): void {
      let copies = 0;
      const sendCopy = () => {
        copies += 1;
        if (copies <= COPIES) send(buildRequest(challenge));
        else reject(new QueryFailure(hasOthers ? 'malformed' : 'time-out'));
      };
      clearInterval(timer);
      sentAtMs = performance.now();
      timer = setInterval(sendCopy, Math.max(1, untilMs - sentAtMs) / COPIES);
      sendCopy();
    }

    /** Measured from the first copy of the request: a response may be to any copy, and a ping must not be too short. */
    function noteRoundTrip(): void {
      pingMs = Math.min(pingMs, performance.now() - sentAtMs);
    }

    function handleDatagram(datagram: Buffer): void {
      const body = readBody(datagram);
      const type = body?.[0];
      if (type === RESPONSE_TYPES.banned) throw new QueryFailure('banned-by-server');
      if (body && type === responseType) {
        noteRoundTrip();
        resolve(body.subarray(1));
        return;
      }
      const isChallenge = body && type === RESPONSE_TYPES.challenge;
      const newChallenge = isChallenge ? createPacketReader(body.subarray(1)).readUint32() : undefined;
      // The same challenge again: a duplicate datagram, or a server that does not accept its own challenge.
      if (newChallenge === undefined || newChallenge === challenge) {
        hasOthers = true;
        return;
      }
      challenges += 1;
      if (challenges > MAX_CHALLENGES) throw new QueryFailure('malformed');
      noteRoundTrip();
      challenge = newChallenge;
      sendCopies();
    }

    const receive = (datagram: Buffer) => {
      try {
        handleDatagram(datagram);
      } catch (error) {
        reject(error instanceof QueryFailure ? error : new QueryFailure('malformed', { cause: error }));
      }
    };
    request = { receive, reject };
    sendCopies();
    return promise.finally(() => {
      clearInterval(timer);
      request = undefined;
    });
  }

  async function askPlayers(info: A2sInfo): Promise<A2sPlayer[]> {
    // A server may never send its players: they get at most half of the time that is left.
    const untilMs = (performance.now() + deadlineMs) / 2;
    try {
      return parsePlayers(
        await ask(buildPlayersRequest, { responseType: RESPONSE_TYPES.players, untilMs }),
        info,
      );
    } catch (error) {
      if (error instanceof QueryFailure && error.reason !== 'aborted') return [];
      throw error;
    }
  }

  socket.on('error', failBy);
  socket.on('message', (datagram, from) => {
    // Before it was connected, the socket accepted datagrams from any address.
    if (from.address === server?.address && from.port === server.port) request?.receive(datagram);
  });
  signal?.addEventListener('abort', abort, { once: true });
  try {
    await new Promise<void>((settle) => {
      socket.once('error', () => settle());
      // Contrary to its type, the callback also gets an error.
      socket.connect(port, host, (error?: Error) => {
        if (error) failBy(error);
        else server = socket.remoteAddress();
        settle();
      });
    });
    if (signal?.aborted) abort();
    const infoOptions = { responseType: RESPONSE_TYPES.info, untilMs: deadlineMs };
    const info = parseInfo(await ask(buildInfoRequest, infoOptions));
    if (info.map === '' && info.maxPlayers === 0) throw new QueryFailure('no-game');
    const players = await askPlayers(info);
    return { info, players, pingMs: Math.max(1, Math.round(pingMs)) };
  } finally {
    signal?.removeEventListener('abort', abort);
    socket.close();
  }
}
