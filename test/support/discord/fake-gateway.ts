import type { ServerWebSocket } from 'bun';

/** https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway-gateway-opcodes */
const OP = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  presenceUpdate: 3,
  resume: 6,
  reconnect: 7,
  invalidSession: 9,
  hello: 10,
  heartbeatAck: 11,
} as const;

/** A type of activity. */
const CUSTOM_STATUS = 4;

export type SocketData = { sessionId?: string; connectedAt: number };
export type GatewaySocket = ServerWebSocket<SocketData>;

type Dispatch = { op: 0; t: string; s: number; d: unknown };
type Session = { id: string; events: Dispatch[]; seq: number; isResumable: boolean; socket?: GatewaySocket };
type Identify = { token?: string; intents?: number; properties?: unknown };
/** https://docs.discord.com/developers/events/gateway-events#update-presence */
type PresenceUpdate = {
  activities?: { name: string; type: number; state?: string }[];
  status?: string;
  afk?: boolean;
  since?: number | null;
};
type Resume = { token?: string; session_id?: string; seq?: number };

export type GatewayOptions = {
  token: string;
  applicationId: string;
  botUser: Record<string, unknown>;
  guildIds: readonly string[];
  heartbeatIntervalMs: number;
  resumeUrl: () => string;
};

/** The gateway's half of Discord, as its documentation describes the connection lifecycle. */
export class FakeGateway {
  readonly identifies: { at: number; intents: number }[] = [];
  readonly resumes: { at: number; seq: number; replayed: number }[] = [];
  /** The texts of custom statuses, the oldest first. */
  readonly statuses: (string | undefined)[] = [];
  heartbeats = 0;
  connections = 0;
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

  readonly #sessions = new Map<string, Session>();
  readonly #sockets = new Set<GatewaySocket>();
  readonly #options: GatewayOptions;
  #nextSession = 1;

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
  description(url: string): Record<string, unknown> {
    return {
      url,
      shards: 1,
      session_start_limit: {
        total: 1000,
        remaining: 1000 - this.identifies.length,
        reset_after: 86_400_000,
        max_concurrency: 1,
      },
    };
  }

  /** Sends an event to every session; one that is away gets it when it resumes. */
  dispatch(type: string, data: unknown): void {
    for (const session of this.#sessions.values()) {
      session.seq += 1;
      const event: Dispatch = { op: 0, t: type, s: session.seq, d: data };
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
    this.sendRaw(JSON.stringify({ op: OP.reconnect, d: null }));
  }

  /** Op 9. `false`: the session is gone, the client has to identify anew. */
  invalidateSessions({ isResumable }: { isResumable: boolean }): void {
    for (const session of this.#sessions.values()) session.isResumable = isResumable;
    this.sendRaw(JSON.stringify({ op: OP.invalidSession, d: isResumable }));
  }

  /** Closes every connection; 1006 is a connection that breaks without a close frame. */
  close(code: number): void {
    for (const socket of this.#sockets) this.#drop(socket, code);
  }

  open(socket: GatewaySocket): void {
    this.connections += 1;
    this.#sockets.add(socket);
    if (this.holdsHello) return;
    socket.send(
      JSON.stringify({ op: OP.hello, d: { heartbeat_interval: this.#options.heartbeatIntervalMs } }),
    );
  }

  closed(socket: GatewaySocket): void {
    this.#sockets.delete(socket);
    for (const session of this.#sessions.values()) {
      if (session.socket === socket) delete session.socket;
    }
  }

  receive(socket: GatewaySocket, text: string | Buffer): void {
    const payload = parsePayload(String(text));
    if (payload === undefined) {
      this.#drop(socket, 4002);
      return;
    }
    if (payload.op === OP.heartbeat) {
      this.heartbeats += 1;
      if (!this.isDeaf) socket.send(JSON.stringify({ op: OP.heartbeatAck }));
      return;
    }
    if (payload.op === OP.identify) {
      this.#identify(socket, payload.d);
      return;
    }
    if (payload.op === OP.resume) {
      this.#resume(socket, payload.d);
      return;
    }
    if (payload.op === OP.presenceUpdate && socket.data.sessionId !== undefined) {
      const { activities, status, afk, since } = payload.d;
      const isWhole = status === 'online' && afk === false && since === null;
      const [activity] = activities ?? [];
      if (isWhole && activity?.type === CUSTOM_STATUS) this.statuses.push(activity.state);
      else this.#drop(socket, 4002);
      return;
    }
    this.#drop(socket, socket.data.sessionId === undefined ? 4003 : 4001);
  }

  #identify(socket: GatewaySocket, { token, intents, properties }: Identify): void {
    if (socket.data.sessionId !== undefined) {
      this.#drop(socket, 4005);
      return;
    }
    this.identifies.push({ at: Date.now(), intents: intents ?? -1 });
    if (this.closeOnIdentify !== undefined) {
      this.#drop(socket, this.closeOnIdentify);
      return;
    }
    if (token !== this.#options.token) {
      this.#drop(socket, 4004);
      return;
    }
    if (intents === undefined || properties === undefined) {
      this.#drop(socket, 4002);
      return;
    }
    if (this.holdsReady) return;
    const session: Session = {
      id: `session-${this.#nextSession}`,
      events: [],
      seq: 1,
      isResumable: true,
      socket,
    };
    this.#nextSession += 1;
    // A new Identify of the same bot without sharding replaces nothing: old sessions stay until they expire. They are dropped here.
    for (const [id, old] of this.#sessions) if (old.socket === undefined) this.#sessions.delete(id);
    this.#sessions.set(session.id, session);
    socket.data.sessionId = session.id;
    const { applicationId, botUser, guildIds, resumeUrl } = this.#options;
    const ready = {
      v: 10,
      user: botUser,
      session_id: session.id,
      session_type: 'normal',
      resume_gateway_url: resumeUrl(),
      guilds: guildIds.map((id) => ({ id, unavailable: true })),
      application: { id: applicationId, flags: 0 },
      shard: [0, 1],
    };
    socket.send(JSON.stringify({ op: OP.dispatch, t: 'READY', s: 1, d: ready }));
  }

  #resume(socket: GatewaySocket, { token, session_id: sessionId, seq }: Resume): void {
    if (this.closeOnIdentify !== undefined) {
      this.#drop(socket, this.closeOnIdentify);
      return;
    }
    if (token !== this.#options.token) {
      this.#drop(socket, 4004);
      return;
    }
    const session = this.#sessions.get(sessionId ?? '');
    if (!session?.isResumable || this.refusesResume) {
      this.#sessions.delete(sessionId ?? '');
      socket.send(JSON.stringify({ op: OP.invalidSession, d: false }));
      return;
    }
    if (seq === undefined || seq > session.seq) {
      this.#drop(socket, 4007);
      return;
    }
    session.socket = socket;
    socket.data.sessionId = session.id;
    const missed = session.events.filter(({ s }) => s > seq);
    for (const event of missed) socket.send(JSON.stringify(event));
    this.resumes.push({ at: Date.now(), seq, replayed: missed.length });
    session.seq += 1;
    socket.send(JSON.stringify({ op: OP.dispatch, t: 'RESUMED', s: session.seq, d: {} }));
  }

  #drop(socket: GatewaySocket, code: number): void {
    this.closed(socket);
    if (code === 1006) socket.terminate();
    else socket.close(code);
  }
}

function parsePayload(text: string): { op: number; d: Identify & Resume & PresenceUpdate } | undefined {
  try {
    const payload = JSON.parse(text);
    return typeof payload?.op === 'number' ? payload : undefined;
  } catch {
    return undefined;
  }
}
