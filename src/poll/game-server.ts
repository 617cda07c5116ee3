import { createSocket } from 'node:dgram';
import { isIP, isIPv6 } from 'node:net';
import { dns } from 'bun';
import { protocols, type UdpTransport, type ValveState } from 'gamedig';
import type { ServerPlayer } from '../db/schema.ts';
import { checkAddress, type ServerAnswer } from '../queries/servers.ts';
import { checkInfo, checkPlayers, isBannedByServer } from './a2s-answer.ts';
import { Missed, type MissReason } from './missed.ts';

/** What came of asking a game server; a server that does not answer is a value, not an error. */
export type PollOutcome =
  | { isAnswered: true; answer: ServerAnswer }
  | { isAnswered: false; reason: MissReason };

const A2S_PLAYER = 0x55;
/** Longest name and host name kept, in characters; Steam allows 32 in a name. */
const MAX_TEXT_LENGTH = 256;

/**
 * Asks a game server for its state and players over A2S.
 * A server that tells its state and never its players is answered, with no players.
 * @param address `host:port`; a host name is resolved anew at each call, IPv4 first.
 * @param timeoutMs for everything together, resolving included.
 * @param signal ends the query at once, as missed.
 */
export async function queryGameServer(
  address: string,
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
): Promise<PollOutcome> {
  const deadlineMs = performance.now() + timeoutMs;
  let transport: ConnectedTransport | undefined;
  try {
    const { host, port } = parseAddress(address);
    const resolved = await resolveHost(host, timeoutMs);
    if (signal?.aborted) throw new Missed('aborted');
    transport = await connectTransport(resolved, port);
    const query = new A2sQuery(transport, { host: resolved, port, timeoutMs, deadlineMs });
    const abort = () => transport?.fail(new Missed('aborted'));
    signal?.addEventListener('abort', abort, { once: true });
    try {
      const state = await query.runOnceSafe();
      return { isAnswered: true, answer: toAnswer(state, query.pingMs) };
    } catch (error) {
      return { isAnswered: false, reason: query.reasonOf(error) };
    } finally {
      signal?.removeEventListener('abort', abort);
    }
  } catch (error) {
    if (error instanceof Missed) return { isAnswered: false, reason: error.reason };
    throw error;
  } finally {
    transport?.close();
  }
}

/** @throws {Missed} for what no host can be read from: rows may come from elsewhere than `addServer`. */
function parseAddress(address: string): { host: string; port: number } {
  try {
    return checkAddress(address);
  } catch (cause) {
    throw new Missed('host-unknown', { cause });
  }
}

function toAnswer(state: ValveState, pingMs: number): ServerAnswer {
  // gamedig sorts people into `bots` when there are bots: only the raw list is right.
  const players = (state.raw.players ?? []).map(({ name, score }) => ({ name: clean(name), score }));
  return {
    hostname: clean(state.name).trim(),
    map: clean(state.map),
    playersCount: state.numplayers,
    maxPlayers: state.maxplayers,
    pingMs,
    players: players.filter(({ name }) => name.trim() !== '').sort(byScore),
  };
}

function byScore(a: ServerPlayer, b: ServerPlayer): number {
  return b.score - a.score;
}

/** Without control characters: NUL, which PostgreSQL refuses, and the colour codes of the game's own text. */
function clean(text: string): string {
  return [...text.replace(/\p{Cc}/gu, '')].slice(0, MAX_TEXT_LENGTH).join('');
}

type QueryOptions = { host: string; port: number; timeoutMs: number; deadlineMs: number };

/**
 * gamedig's Valve protocol with what it leaves out: whole answers only, "Banned by server" told apart, requests sent
 * again when they or their answers get lost, and one limit for everything together.
 */
class A2sQuery extends protocols.valve {
  readonly #transport: ConnectedTransport;
  readonly #deadlineMs: number;
  readonly #timeoutMs: number;
  #pingMs = Number.POSITIVE_INFINITY;
  #heardNoise = false;

  constructor(transport: ConnectedTransport, { host, port, timeoutMs, deadlineMs }: QueryOptions) {
    super();
    this.#transport = transport;
    this.#deadlineMs = deadlineMs;
    this.#timeoutMs = timeoutMs;
    this.udpSocket = transport;
    this.options = {
      host,
      address: host,
      port,
      requestPlayers: true,
      socketTimeout: timeoutMs,
      // Each exchange keeps to the deadline by itself; this is the net below.
      attemptTimeout: timeoutMs + 250,
    };
  }

  /** Shortest round trip in milliseconds, at least 1: 0 means offline. */
  get pingMs(): number {
    return Math.max(1, Math.round(this.#pingMs));
  }

  reasonOf(error: unknown): MissReason {
    if (error instanceof Missed) return error.reason;
    const isTimeOut = error instanceof Error && error.message.includes('Timed out');
    return isTimeOut && !this.#heardNoise ? 'time-out' : 'malformed';
  }

  override async sendPacket(type: number, payload: string | null, expect: number, allowTimeout: boolean) {
    const body = await super.sendPacket(type, payload, expect, allowTimeout);
    if (body === null) return body;
    if (type === A2S_PLAYER) checkPlayers(body);
    else checkInfo(body);
    return body;
  }

  override async sendPacketRaw<T>(
    type: number,
    payload: string | null,
    onResponse: (body: Buffer) => T | undefined,
    onTimeout: () => T | undefined,
  ): Promise<T> {
    const leftMs = Math.max(1, this.#deadlineMs - performance.now());
    // A server may never tell its players: half of the time must be left to say that it is there.
    this.options.socketTimeout = type === A2S_PLAYER ? Math.min(leftMs, this.#timeoutMs / 2) : leftMs;
    return super.sendPacketRaw(
      type,
      payload,
      (body) => {
        if (isBannedByServer(body)) throw new Missed('banned-by-server');
        return onResponse(body);
      },
      onTimeout,
    );
  }

  override async udpSend<T>(
    datagram: Buffer,
    onPacket: (datagram: Buffer) => T | undefined,
    onTimeout: () => T | undefined,
  ): Promise<T> {
    this.#heardNoise = false;
    const { address, port, socketTimeout } = this.options;
    const sentAt = performance.now();
    const send = () => this.#transport.send(datagram, address, port).catch(() => {});
    const resend = setInterval(send, socketTimeout / 3);
    try {
      return await super.udpSend(
        datagram,
        (received) => {
          if (this.#transport.failure) throw this.#transport.failure;
          this.#pingMs = Math.min(this.#pingMs, performance.now() - sentAt);
          const result = onPacket(received);
          if (result === undefined) this.#heardNoise = true;
          return result;
        },
        onTimeout,
      );
    } finally {
      clearInterval(resend);
    }
  }
}

type ConnectedTransport = UdpTransport & {
  failure: Missed | undefined;
  /** Ends the exchange under way, and every later one. */
  fail: (failure: Missed) => void;
  close: () => void;
};

/**
 * A socket of one query, connected to the server: only its answers come in, a port where nobody listens is told at
 * once, and neither IPv6 nor many queries at a time need anything more. (gamedig's own socket knows IPv4 alone.)
 */
async function connectTransport(host: string, port: number): Promise<ConnectedTransport> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  let listener: ((address: string, port: number, datagram: Buffer) => void) | undefined;
  let isClosed = false;
  const transport: ConnectedTransport = {
    failure: undefined,
    fail: (failure) => {
      transport.failure ??= failure;
      listener?.(host, port, Buffer.alloc(0));
    },
    send: async (datagram) => {
      if (transport.failure) throw transport.failure;
      if (isClosed) return;
      try {
        socket.send(datagram, (error) => {
          if (error) transport.fail(new Missed('unreachable'));
        });
      } catch {
        transport.fail(new Missed('unreachable'));
      }
    },
    addCallback: (callback) => {
      listener = callback;
      // The refusal of the datagram just sent may have come before anybody listened.
      if (transport.failure) transport.fail(transport.failure);
    },
    removeCallback: () => {
      listener = undefined;
    },
    close: () => {
      if (isClosed) return;
      isClosed = true;
      socket.close();
    },
  };
  socket.on('message', (datagram) => listener?.(host, port, datagram));
  socket.on('error', (error) => transport.fail(new Missed(reasonOfSocketError(error))));
  await new Promise<void>((settle) => {
    socket.once('error', () => settle());
    socket.connect(port, host, settle);
  });
  return transport;
}

function reasonOfSocketError(error: Error): MissReason {
  return 'code' in error && error.code === 'ECONNREFUSED' ? 'refused' : 'unreachable';
}

/**
 * The address of a host, IPv4 where it has both. Asked by c-ares: the system's resolver would hold one of the few
 * threads that also read files, for as long as a name server does not answer.
 * @throws {Missed}
 */
async function resolveHost(host: string, timeoutMs: number): Promise<string> {
  if (isIP(host)) return host;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expiry = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Missed('host-unknown')), timeoutMs);
  });
  try {
    const found = await Promise.race([dns.lookup(host, { backend: 'c-ares' }), expiry]);
    const chosen = found.find(({ family }) => family === 4) ?? found[0];
    if (chosen) return chosen.address;
  } catch (cause) {
    throw new Missed('host-unknown', { cause });
  } finally {
    clearTimeout(timer);
  }
  throw new Missed('host-unknown');
}
