import type { ServerWebSocket } from 'bun';
import { ActivityType, GatewayCloseCodes, GatewayOpcodes } from 'discord.js';

export type GatewaySocket = ServerWebSocket<undefined>;

type Dispatch = { op: 0; t: string; s: number; d: unknown };
type Session = { id: string; events: Dispatch[]; seq: number; isResumable: boolean; socket?: GatewaySocket };
/** What a client sends: a heartbeat, Identify, Resume or a presence. */
type Payload = {
  op: GatewayOpcodes;
  d: {
    token?: string;
    intents?: number;
    session_id?: string;
    seq?: number;
    activities?: { type: ActivityType; state?: string }[];
    status?: string;
    afk?: boolean;
    since?: number | null;
  };
};

export type GatewayOptions = {
  token: string;
  applicationId: string;
  botUser: Record<string, unknown>;
  guildIds: () => readonly string[];
  heartbeatIntervalMs: number;
  resumeUrl: () => string;
};

/** The gateway's half of Discord, as its documentation describes the connection lifecycle. */
export class FakeGateway {
  readonly identifies: { at: number; intents: number }[] = [];
  readonly resumes: { at: number; seq: number; replayed: number }[] = [];
  /** The texts of custom statuses, the oldest first. */
  readonly statuses: (string | undefined)[] = [];
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
    if (this.holdsHello) return;
    socket.send(
      JSON.stringify({
        op: GatewayOpcodes.Hello,
        d: { heartbeat_interval: this.#options.heartbeatIntervalMs },
      }),
    );
  }

  closed(socket: GatewaySocket): void {
    this.#sockets.delete(socket);
    for (const session of this.#sessions.values()) {
      if (session.socket === socket) delete session.socket;
    }
  }

  receive(socket: GatewaySocket, text: string | Buffer): void {
    const { op, d }: Payload = JSON.parse(String(text));
    if (op === GatewayOpcodes.Heartbeat) {
      if (!this.isDeaf) socket.send(JSON.stringify({ op: GatewayOpcodes.HeartbeatAck }));
    } else if (op === GatewayOpcodes.PresenceUpdate) {
      const [activity] = d.activities ?? [];
      const isWhole = d.status === 'online' && d.afk === false && d.since === null;
      if (isWhole && activity?.type === ActivityType.Custom) this.statuses.push(activity.state);
      else this.#drop(socket, GatewayCloseCodes.DecodeError);
    } else {
      if (op === GatewayOpcodes.Identify) this.identifies.push({ at: Date.now(), intents: d.intents ?? -1 });
      const isKnown = d.token === this.#options.token;
      const code = this.closeOnIdentify ?? (isKnown ? undefined : GatewayCloseCodes.AuthenticationFailed);
      if (code !== undefined) this.#drop(socket, code);
      else if (op === GatewayOpcodes.Identify) this.#identify(socket);
      else this.#resume(socket, d);
    }
  }

  #identify(socket: GatewaySocket): void {
    if (this.holdsReady) return;
    const id = `session-${this.#nextSession}`;
    this.#nextSession += 1;
    // A new Identify of the same bot without sharding replaces nothing: old sessions stay until they expire. They are
    // dropped here.
    for (const [id, old] of this.#sessions) if (old.socket === undefined) this.#sessions.delete(id);
    this.#sessions.set(id, { id, events: [], seq: 1, isResumable: true, socket });
    const { applicationId, botUser, guildIds, resumeUrl } = this.#options;
    const ready = {
      v: 10,
      user: botUser,
      session_id: id,
      session_type: 'normal',
      resume_gateway_url: resumeUrl(),
      guilds: guildIds().map((id) => ({ id, unavailable: true })),
      application: { id: applicationId, flags: 0 },
      shard: [0, 1],
    };
    socket.send(JSON.stringify({ op: GatewayOpcodes.Dispatch, t: 'READY', s: 1, d: ready }));
  }

  #resume(socket: GatewaySocket, { session_id: sessionId = '', seq = 0 }: Payload['d']): void {
    const session = this.#sessions.get(sessionId);
    if (!session?.isResumable || this.refusesResume) {
      this.#sessions.delete(sessionId);
      socket.send(JSON.stringify({ op: GatewayOpcodes.InvalidSession, d: false }));
      return;
    }
    session.socket = socket;
    const missed = session.events.filter(({ s }) => s > seq);
    for (const event of missed) socket.send(JSON.stringify(event));
    this.resumes.push({ at: Date.now(), seq, replayed: missed.length });
    session.seq += 1;
    socket.send(JSON.stringify({ op: GatewayOpcodes.Dispatch, t: 'RESUMED', s: session.seq, d: {} }));
  }

  #drop(socket: GatewaySocket, code: number): void {
    this.closed(socket);
    if (code === 1006) socket.terminate();
    else socket.close(code);
  }
}
