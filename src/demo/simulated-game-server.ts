import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** The state of the game on a simulated server; it may be changed at any time. */
type SimulatedGame = {
  hostname: string;
  map: string;
  /** 0 to 255. */
  maxPlayers: number;
  players: SimulatedPlayer[];
  /** Counted separately: CS2 does not count bots as players in A2S_INFO. */
  bots: number;
};

type SimulatedPlayer = {
  name: string;
  score: number;
  /** Epoch milliseconds. */
  joinedAt: number;
};

/** Returns the datagrams to send for a request, given the usual response. */
export type Respond = (response: Buffer, request: { isInfo: boolean; bytes: Buffer }) => Buffer[];

export type SimulatedGameServer = {
  /** `host:port`, the host in brackets when it is IPv6. */
  address: string;
  port: number;
  game: SimulatedGame;
  /** May be replaced at any time. */
  respond: Respond;
  /** Requests received, with or without a response. */
  requests: { info: number; player: number };
  stop: () => Promise<void>;
};

/** Sends each response in one datagram; loopback has room for it. */
export const respondNormally: Respond = (response) => [response];
export const staySilent: Respond = () => [];

const A2S_INFO = 0x54;
const A2S_PLAYER = 0x55;
const S2A_INFO = 0x49;
const S2A_PLAYER = 0x44;
const INFO_QUESTION = Buffer.from('Source Engine Query\0', 'latin1');
const UNSPLIT = Buffer.from([0xff, 0xff, 0xff, 0xff]);
/** Steam's app id of Counter-Strike 2, 730, and the protocol version it responds with. */
const APP_ID = [0xda, 0x02];
const PROTOCOL = 17;

/**
 * Starts a game server that responds to A2S_INFO and A2S_PLAYER over UDP, without challenges.
 * https://developer.valvesoftware.com/wiki/Server_queries
 * @param host loopback by default; an IPv6 address listens on IPv6.
 * @param delayMs before each response.
 */
export async function startSimulatedGameServer({
  host = '127.0.0.1',
  game = {},
  respond = respondNormally,
  delayMs = 0,
}: {
  host?: string;
  game?: Partial<SimulatedGame>;
  respond?: Respond;
  delayMs?: number;
} = {}): Promise<SimulatedGameServer> {
  const isIpv6 = host.includes(':');
  const socket = createSocket(isIpv6 ? 'udp6' : 'udp4');
  let isStopped = false;
  socket.bind(0, host);
  await once(socket, 'listening');
  const { port } = socket.address();
  const server: SimulatedGameServer = {
    address: `${isIpv6 ? `[${host}]` : host}:${port}`,
    port,
    game: { hostname: 'Simulated server', map: 'de_mirage', maxPlayers: 24, players: [], bots: 0, ...game },
    respond,
    requests: { info: 0, player: 0 },
    stop: async () => {
      if (isStopped) return;
      isStopped = true;
      socket.close();
      await once(socket, 'close');
    },
  };
  socket.on('message', (bytes, from) => {
    const isInfo = bytes[4] === A2S_INFO && bytes.subarray(5, 25).equals(INFO_QUESTION);
    const isPlayer = bytes[4] === A2S_PLAYER && bytes.length >= 9;
    if (!bytes.subarray(0, 4).equals(UNSPLIT) || (!isInfo && !isPlayer)) return;
    server.requests[isInfo ? 'info' : 'player'] += 1;
    const response = isInfo ? packInfo(server.game) : packPlayers(server.game.players);
    const datagrams = server.respond(response, { isInfo, bytes });
    const send = () => {
      if (!isStopped) for (const datagram of datagrams) socket.send(datagram, from.port, from.address);
    };
    if (delayMs > 0) setTimeout(send, delayMs).unref();
    else send();
  });
  // The system reports "connection refused" here for a client that has left; that is no error of the server.
  socket.on('error', () => {});
  return server;
}

/** Without the extra data at the end, which the specification allows. */
function packInfo({ hostname, map, players, maxPlayers, bots }: SimulatedGame): Buffer {
  return Buffer.concat([
    UNSPLIT,
    Buffer.from([S2A_INFO, PROTOCOL]),
    text(hostname),
    text(map),
    text('csgo'),
    text('Counter-Strike 2'),
    Buffer.from([...APP_ID, Math.min(players.length, 255), maxPlayers, bots]),
    // A dedicated server on Linux, without a password, with VAC.
    Buffer.from('dl\0\x01', 'latin1'),
    text('1.41.2.5'),
  ]);
}

function packPlayers(players: readonly SimulatedPlayer[]): Buffer {
  const listedPlayers = players.slice(0, 255);
  const entries = listedPlayers.map(({ name, score, joinedAt }) => {
    const numbers = Buffer.alloc(8);
    numbers.writeInt32LE(score, 0);
    numbers.writeFloatLE(Math.max(0, Date.now() - joinedAt) / 1000, 4);
    return Buffer.concat([Buffer.from([0]), text(name), numbers]);
  });
  return Buffer.concat([UNSPLIT, Buffer.from([S2A_PLAYER, listedPlayers.length]), ...entries]);
}

function text(value: string): Buffer {
  return Buffer.from(`${value.replaceAll('\0', '')}\0`);
}
