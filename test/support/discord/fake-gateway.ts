import type { ServerWebSocket } from 'bun';
import {
  ActivityType,
  GatewayCloseCodes,
  GatewayOpcodes,
  type GatewayResumeData,
  type GatewaySendPayload,
} from 'discord.js';

type GatewaySocket = ServerWebSocket<undefined>;
type Dispatch = { op: GatewayOpcodes.Dispatch; t: string; s: number; d: unknown };
type Session = { events: Dispatch[]; seq: number; isResumable: boolean; socket?: GatewaySocket };

type GatewayOptions = {
  token: string;
  applicationId: string;
  botUser: Record<string, unknown>;
  guildIds: () => readonly string[];
  heartbeatIntervalMs: number;
  url: () => string;
};

/** The gateway's half of Discord, as its documentation describes the connection lifecycle. */
export class FakeGateway {
  /** How many connections, Identify and Resume payloads there were. */
  connections = 0;
  identifies = 0;
  resumes = 0;
  /** The texts of custom statuses, the oldest first. */
  readonly statuses: (string | undefined)[] = [];
  /** When set, Identify and Resume are closed with this code. */
  closeOnIdentify: number | undefined;
  /** Heartbeats are not acknowledged, so that the connection looks dead. */
  isDeaf = false;
  /** Identify is accepted, and READY never comes. */
  holdsReady = false;
  /** The socket opens, and Hello never comes. */
  holdsHello = false;
  /** Resume is refused by op 9 `false`. */
  refusesResume = false;

  /** By id. */
  readonly #sessions = new Map<string, Session>();
  readonly #sockets = new Set<GatewaySocket>();
  readonly #options: GatewayOptions;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  get isReady(): boolean {
    return [...this.#sessions.values()].some(({ socket }) => socket !== undefined);
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  /** What `GET /gateway/bot` responds. */
  description(): Record<string, unknown> {
    const remaining = 1000 - this.identifies;
    return {
      url: this.#options.url(),
      shards: 1,
      session_start_limit: { total: 1000, remaining, reset_after: 86_400_000, max_concurrency: 1 },
    };
  }

  /** Sends an event to every session; one that is away gets it when it resumes. */
  dispatch(type: string, data: unknown): void {
    for (const session of this.#sessions.values()) {
      session.seq += 1;
      const event: Dispatch = { op: GatewayOpcodes.Dispatch, t: type, s: session.seq, d: data };
      session.events.push(event);
      if (session.events.length > 1000) session.events.shift();
      session.socket?.send(JSON.stringify(event));
    }
  }

  /** Sends bytes as they are. */
  sendRaw(text: string): void {
    for (const socket of this.#sockets) socket.send(text);
  }

  /** Op 7: the client is to come back and resume. */
  askToReconnect(): void {
    this.sendRaw(JSON.stringify({ op: GatewayOpcodes.Reconnect, d: null }));
  }

  /** Op 9. `false`: the session is gone, the client has to identify anew. */
  invalidateSessions({ isResumable }: { isResumable: boolean }): void {
    for (const session of this.#sessions.values()) session.isResumable = isResumable;
    this.sendRaw(JSON.stringify({ op: GatewayOpcodes.InvalidSession, d: isResumable }));
  }

  /** Closes every connection; 1006 is a connection that breaks without a close frame. */
  close(code: number): void {
    for (const socket of this.#sockets) this.#drop(socket, code);
  }

  open(socket: GatewaySocket): void {
    this.connections += 1;
    this.#sockets.add(socket);
    const hello = { op: GatewayOpcodes.Hello, d: { heartbeat_interval: this.#options.heartbeatIntervalMs } };
    if (!this.holdsHello) socket.send(JSON.stringify(hello));
  }

  closed(socket: GatewaySocket): void {
    this.#sockets.delete(socket);
    for (const session of this.#sessions.values()) {
      if (session.socket === socket) delete session.socket;
    }
  }

  receive(socket: GatewaySocket, text: string | Buffer): void {
    const payload: GatewaySendPayload = JSON.parse(String(text));
    if (payload.op === GatewayOpcodes.Heartbeat) {
      if (!this.isDeaf) socket.send(JSON.stringify({ op: GatewayOpcodes.HeartbeatAck }));
    } else if (payload.op === GatewayOpcodes.PresenceUpdate) {
      const [activity] = payload.d.activities;
      if (activity?.type === ActivityType.Custom) this.statuses.push(activity.state ?? undefined);
    } else if (payload.op === GatewayOpcodes.Identify || payload.op === GatewayOpcodes.Resume) {
      if (payload.op === GatewayOpcodes.Identify) this.identifies += 1;
      const isKnown = payload.d.token === this.#options.token;
      const code = this.closeOnIdentify ?? (isKnown ? undefined : GatewayCloseCodes.AuthenticationFailed);
      if (code !== undefined) this.#drop(socket, code);
      else if (payload.op === GatewayOpcodes.Identify) this.#identify(socket);
      else this.#resume(socket, payload.d);
    }
  }

  #identify(socket: GatewaySocket): void {
    if (this.holdsReady) return;
    // A new Identify of the same bot without sharding replaces nothing: old sessions stay until they expire. They are
    // dropped here.
    for (const [id, old] of this.#sessions) if (old.socket === undefined) this.#sessions.delete(id);
    const sessionId = `session-${this.identifies}`;
    this.#sessions.set(sessionId, { events: [], seq: 1, isResumable: true, socket });
    const { applicationId, botUser, guildIds, url } = this.#options;
    const ready = {
      v: 10,
      user: botUser,
      session_id: sessionId,
      resume_gateway_url: url(),
      guilds: guildIds().map((id) => ({ id, unavailable: true })),
      application: { id: applicationId, flags: 0 },
      shard: [0, 1],
    };
    socket.send(JSON.stringify({ op: GatewayOpcodes.Dispatch, t: 'READY', s: 1, d: ready }));
  }

  #resume(socket: GatewaySocket, { session_id: sessionId, seq }: GatewayResumeData): void {
    const session = this.#sessions.get(sessionId);
    if (!session?.isResumable || this.refusesResume) {
      this.#sessions.delete(sessionId);
      socket.send(JSON.stringify({ op: GatewayOpcodes.InvalidSession, d: false }));
      return;
    }
    session.socket = socket;
    for (const event of session.events) if (event.s > seq) socket.send(JSON.stringify(event));
    this.resumes += 1;
    session.seq += 1;
    socket.send(JSON.stringify({ op: GatewayOpcodes.Dispatch, t: 'RESUMED', s: session.seq, d: {} }));
  }

  #drop(socket: GatewaySocket, code: number): void {
    this.closed(socket);
    if (code === 1006) socket.terminate();
    else socket.close(code);
  }
}
