import { createHash, randomBytes } from 'node:crypto';
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';

/** The state of the game on a simulated server; it may be changed at any time. */
export type SimulatedGame = {
  hostname: string;
  map: string;
  /** 0 to 255. */
  maxPlayers: number;
  players: SimulatedPlayer[];
  /** Counted separately: CS2 does not count bots as players in A2S_INFO. */
  bots: number;
};

export type SimulatedPlayer = {
  name: string;
  score: number;
  /** Epoch milliseconds. */
  joinedAt: number;
};

/** How a simulated server responds; it may be changed at any time. */
export type SimulatedManner = {
  /**
   * `normal`; `silent`: never; `info-only`: A2S_INFO but never A2S_PLAYER; `banned`: "Banned by server" to everything;
   * `garbage`: bytes that are no response; `empty`: datagrams without a byte.
   */
  responses: 'normal' | 'silent' | 'info-only' | 'banned' | 'garbage' | 'empty';
  /** Which requests need a challenge; `both` in CS2. */
  challenges: 'both' | 'players' | 'none';
  /** Time before each response, in milliseconds. */
  delayMs: number;
  /** Responses longer than this go out in several datagrams. Valve's default is 1248 bytes of payload in each. */
  splitAboveBytes: number;
  /** Sends the parts of a split response last first. */
  partsReversed: boolean;
  /** Truncates the A2S_INFO response to this size. */
  infoBytes?: number;
  /** Truncates the A2S_PLAYER response to this size. */
  playerBytes?: number;
  /** The player count in A2S_INFO, instead of the number of `players`. */
  playersCount?: number;
  /** Ignores this many requests first. */
  loseRequests: number;
};

export type SimulatedGameServer = {
  /** `host:port`, the host in brackets when it is IPv6. */
  address: string;
  port: number;
  game: SimulatedGame;
  manner: SimulatedManner;
  /** Requests received, with or without a response. */
  requests: { info: number; player: number };
  stop: () => Promise<void>;
};

const NORMAL_MANNER: SimulatedManner = {
  responses: 'normal',
  challenges: 'both',
  delayMs: 0,
  splitAboveBytes: 1248,
  partsReversed: false,
  loseRequests: 0,
};

const A2S_INFO = 0x54;
const A2S_PLAYER = 0x55;
const S2C_CHALLENGE = 0x41;
const S2A_INFO = 0x49;
const S2A_PLAYER = 0x44;
const BANNED = 0x6c;
const INFO_QUESTION = Buffer.from('Source Engine Query\0', 'latin1');
const UNSPLIT = Buffer.from([0xff, 0xff, 0xff, 0xff]);
/** Steam's app id of Counter-Strike 2, and the protocol version it responds with. */
const APP_ID = 730;
const PROTOCOL = 17;
const SPLIT_SIZE_BYTES = 1248;

/**
 * Starts a game server that implements A2S over UDP like Valve's: A2S_INFO, A2S_PLAYER, challenges, split responses.
 * https://developer.valvesoftware.com/wiki/Server_queries
 * @param host loopback by default; an IPv6 address listens on IPv6.
 * @param port 0, the default, takes a free one.
 * @throws the socket's error when the port is taken.
 */
export async function startSimulatedGameServer({
  host = '127.0.0.1',
  port = 0,
  game = {},
  manner = {},
}: {
  host?: string;
  port?: number;
  game?: Partial<SimulatedGame>;
  manner?: Partial<SimulatedManner>;
} = {}): Promise<SimulatedGameServer> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  const bound = await bind(socket, host, port);
  const server: SimulatedGameServer = {
    address: `${host.includes(':') ? `[${host}]` : host}:${bound}`,
    port: bound,
    game: {
      hostname: 'Simulated server',
      map: 'de_mirage',
      maxPlayers: 24,
      players: [],
      bots: 0,
      ...game,
    },
    manner: { ...NORMAL_MANNER, ...manner },
    requests: { info: 0, player: 0 },
    stop: () => close(socket),
  };
  const secret = randomBytes(16);
  socket.on('message', (request, from) => {
    const datagrams = respond(server, request, challengeOf(secret, from));
    if (datagrams.length === 0) return;
    // By the time a delayed response is due, the socket or the client's port may be closed.
    const send = () => datagrams.forEach((datagram) => void trySend(socket, datagram, from));
    if (server.manner.delayMs > 0) setTimeout(send, server.manner.delayMs).unref();
    else send();
  });
  // The system reports "connection refused" here for a client that has left; that is no error of the server.
  socket.on('error', () => {});
  return server;
}

/** The datagrams of the response; none for an invalid request. */
function respond(server: SimulatedGameServer, request: Buffer, challenge: number): Buffer[] {
  const { manner } = server;
  const isInfo = request[4] === A2S_INFO && request.subarray(5, 25).equals(INFO_QUESTION);
  const isPlayer = request[4] === A2S_PLAYER && request.length >= 9;
  if (!request.subarray(0, 4).equals(UNSPLIT) || (!isInfo && !isPlayer)) return [];
  server.requests[isInfo ? 'info' : 'player'] += 1;
  if (manner.loseRequests > 0) {
    manner.loseRequests -= 1;
    return [];
  }
  if (manner.responses === 'silent' || (manner.responses === 'info-only' && isPlayer)) return [];
  if (manner.responses === 'empty') return [Buffer.alloc(0)];
  if (manner.responses === 'garbage') return [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')];
  if (manner.responses === 'banned') return [packet(BANNED, Buffer.from('Banned by server\0'))];

  const shown = isInfo ? request.subarray(25, 29) : request.subarray(5, 9);
  const mustShow = manner.challenges === 'both' || (manner.challenges === 'players' && isPlayer);
  if (mustShow && (shown.length < 4 || shown.readUInt32LE(0) !== challenge)) {
    return [packet(S2C_CHALLENGE, uint32(challenge))];
  }
  const whole = isInfo ? packet(S2A_INFO, infoBody(server)) : packet(S2A_PLAYER, playerBody(server));
  const cut = whole.subarray(0, isInfo ? manner.infoBytes : manner.playerBytes);
  return split(cut, manner);
}

function infoBody({ game, manner, port }: SimulatedGameServer): Buffer {
  return Buffer.concat([
    Buffer.from([PROTOCOL]),
    text(game.hostname),
    text(game.map),
    text('csgo'),
    text('Counter-Strike 2'),
    uint16(APP_ID),
    Buffer.from([manner.playersCount ?? Math.min(game.players.length, 255), game.maxPlayers, game.bots]),
    // A dedicated server on Linux, without a password, with VAC.
    Buffer.from('dl\0\x01', 'latin1'),
    text('1.41.2.5'),
    // Extra data: port, keywords, game id.
    Buffer.from([0x80 | 0x20 | 0x01]),
    uint16(port),
    text('secure,simulated'),
    uint32(APP_ID),
    uint32(0),
  ]);
}

function playerBody({ game }: SimulatedGameServer): Buffer {
  const listed = game.players.slice(0, 255);
  const entries = listed.map(({ name, score, joinedAt }) => {
    const numbers = Buffer.alloc(8);
    numbers.writeInt32LE(score, 0);
    numbers.writeFloatLE(Math.max(0, Date.now() - joinedAt) / 1000, 4);
    return Buffer.concat([Buffer.from([0]), text(name), numbers]);
  });
  return Buffer.concat([Buffer.from([listed.length]), ...entries]);
}

/** Source's split format: -2, response id, number of parts, part number, part size, payload. */
function split(whole: Buffer, { splitAboveBytes, partsReversed }: SimulatedManner): Buffer[] {
  if (whole.length <= splitAboveBytes) return [whole];
  const id = randomBytes(4);
  // The highest bit marks a compressed response.
  id.writeUInt8(id.readUInt8(3) & 0x7f, 3);
  const partBytes = Math.min(splitAboveBytes, SPLIT_SIZE_BYTES);
  const total = Math.ceil(whole.length / partBytes);
  const parts = Array.from({ length: total }, (_, number) =>
    Buffer.concat([
      Buffer.from([0xfe, 0xff, 0xff, 0xff]),
      id,
      Buffer.from([total, number]),
      uint16(partBytes),
      whole.subarray(number * partBytes, (number + 1) * partBytes),
    ]),
  );
  return partsReversed ? parts.reverse() : parts;
}

/** Different for each client, so that responses cannot be sent to a forged address. */
function challengeOf(secret: Buffer, { address, port }: RemoteInfo): number {
  const digest = createHash('sha256').update(secret).update(`${address} ${port}`).digest();
  return (digest.readUInt32LE(0) & 0x7fff_ffff) | 1;
}

function packet(type: number, body: Buffer): Buffer {
  return Buffer.concat([UNSPLIT, Buffer.from([type]), body]);
}

function text(value: string): Buffer {
  return Buffer.from(`${value.replaceAll('\0', '')}\0`, 'utf8');
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function bind(socket: Socket, host: string, port: number): Promise<number> {
  return new Promise((settle, reject) => {
    socket.once('error', reject);
    socket.bind(port, host, () => {
      socket.removeListener('error', reject);
      settle(socket.address().port);
    });
  });
}

function trySend(socket: Socket, datagram: Buffer, { port, address }: RemoteInfo): boolean {
  try {
    socket.send(datagram, port, address, () => {});
    return true;
  } catch {
    return false;
  }
}

function close(socket: Socket): Promise<void> {
  return new Promise((settle) => {
    try {
      socket.close(() => settle());
    } catch {
      // Closed already.
      settle();
    }
  });
}
