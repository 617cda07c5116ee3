/** The packets of Source's server queries, as Counter-Strike 2 sends them. https://developer.valvesoftware.com/wiki/Server_queries */

/** First four bytes of every packet: a whole one, or a part of a split response. */
export const WHOLE_PACKET = 0xffff_ffff;
export const SPLIT_PACKET = 0xffff_fffe;

/** The byte after the first four of a whole packet. */
export const RESPONSE_TYPES = {
  info: 0x49,
  players: 0x44,
  /** S2C_CHALLENGE: the request is to be repeated with this challenge. */
  challenge: 0x41,
  /** The server has banned the client's address. */
  banned: 0x6c,
} as const;

const A2S_INFO = 0x54;
const A2S_PLAYER = 0x55;
const INFO_PAYLOAD = Buffer.from('Source Engine Query\0', 'latin1');
/** Requests a challenge, in a request that must contain one. */
const NO_CHALLENGE = 0xffff_ffff;

/** Steam's app id of Counter-Strike: Global Offensive and of Counter-Strike 2. */
const COUNTER_STRIKE = 730;
/** A server that hides its players lists one of this name. */
const MADE_UP_PLAYER = 'Max Players';

/** The fields of an A2S_INFO response that are used. */
export type A2sInfo = {
  hostname: string;
  map: string;
  appId: number;
  /** 0 to 255; Counter-Strike 2 leaves bots out. */
  playersCount: number;
  /** 0 to 255. */
  maxPlayers: number;
};

/** One entry of an A2S_PLAYER response, with the seconds since they joined; a stock Counter-Strike 2 server sends '' and 0. */
export type A2sPlayer = { name: string; score: number; seconds: number };

/** Builds an A2S_INFO request. @param challenge the server's latest, if it has sent one. */
export function buildInfoRequest(challenge: number | undefined): Buffer {
  return buildRequest(A2S_INFO, INFO_PAYLOAD, challenge === undefined ? [] : [challenge]);
}

/** Builds an A2S_PLAYER request. @param challenge the server's latest, if it has sent one. */
export function buildPlayersRequest(challenge: number | undefined): Buffer {
  return buildRequest(A2S_PLAYER, Buffer.alloc(0), [challenge ?? NO_CHALLENGE]);
}

function buildRequest(type: number, payload: Buffer, challenges: number[]): Buffer {
  const request = Buffer.alloc(5 + payload.length + 4 * challenges.length);
  request.writeUInt32LE(WHOLE_PACKET, 0);
  request.writeUInt8(type, 4);
  payload.copy(request, 5);
  for (const challenge of challenges) request.writeUInt32LE(challenge, 5 + payload.length);
  return request;
}

/**
 * Parses an A2S_INFO response. What follows the player counts is not used, so it may be cut or malformed.
 * @param body without the type.
 * @throws {QueryFailure} `malformed` when it ends too early.
 */
export function parseInfo(body: Buffer): A2sInfo {
  const reader = createPacketReader(body);
  reader.skip(1); // protocol
  const hostname = reader.readText();
  const map = reader.readText();
  reader.readText(); // folder
  reader.readText(); // game
  const appId = reader.readUint16();
  const playersCount = reader.readByte();
  const maxPlayers = reader.readByte();
  return { hostname, map, appId, playersCount, maxPlayers };
}

/**
 * Parses an A2S_PLAYER response, entries without a name included; at most 255. Trailing bytes are ignored. A full server
 * may announce more players than fit into its response: those that are complete are returned.
 * @param body without the type.
 */
export function parsePlayers(body: Buffer, { appId }: Pick<A2sInfo, 'appId'>): A2sPlayer[] {
  const reader = createPacketReader(body);
  const players: A2sPlayer[] = [];
  try {
    for (let announced = reader.readByte(); announced > 0; announced--) {
      reader.skip(1); // index
      const name = reader.readText();
      const score = reader.readInt32();
      const seconds = reader.readFloat();
      if (appId !== COUNTER_STRIKE || name !== MADE_UP_PLAYER) players.push({ name, score, seconds });
    }
  } catch (error) {
    if (!(error instanceof QueryFailure)) throw error;
  }
  return players;
}

/**
 * Reads a packet, which is not copied, from front to back, numbers in little-endian order. Every read past the end throws
 * {@link QueryFailure} `malformed`.
 */
export function createPacketReader(packet: Buffer) {
  let offset = 0;
  /** Advances by some bytes and returns the offset before. */
  const step = (bytes: number): number => {
    const start = offset;
    offset += bytes;
    if (offset > packet.length) throw new QueryFailure('malformed');
    return start;
  };
  return {
    readByte: () => packet.readUInt8(step(1)),
    readUint16: () => packet.readUInt16LE(step(2)),
    readUint32: () => packet.readUInt32LE(step(4)),
    readInt32: () => packet.readInt32LE(step(4)),
    /** May be NaN or infinite. */
    readFloat: () => packet.readFloatLE(step(4)),
    /** Up to the next NUL, as UTF-8. Invalid bytes become U+FFFD; a character that is cut at the end is left out. */
    readText: () => {
      const end = packet.indexOf(0, offset);
      if (end === -1) throw new QueryFailure('malformed');
      const bytes = packet.subarray(offset, end);
      offset = end + 1;
      // Servers cut names and host names at a number of bytes. A stream keeps an incomplete character for the next chunk.
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
    },
    skip: (bytes: number): void => {
      step(bytes);
    },
    /** What has not been read yet. */
    rest: () => packet.subarray(offset),
  };
}

/** 255 players whose names have 32 characters of four bytes are 35,000 bytes, 29 parts of Valve's 1248. */
const MAX_PARTS = 32;
const MAX_RESPONSE_BYTES = 65_536;
/** A repeated request may get two responses, with interleaved parts. */
const MAX_UNFINISHED = 2;
/** The highest bit of a response's id marks compression. */
const IS_COMPRESSED = 0x8000_0000;

type Unfinished = { parts: Map<number, Buffer>; total: number; sizeBytes: number };

/**
 * Creates a function that takes the parts of split responses, without their first four bytes, and returns a whole packet
 * once its last part has arrived. It throws {@link QueryFailure} `malformed` for invalid or compressed parts. At most two
 * unfinished responses of 64 KiB each are kept; the oldest is dropped for a new one.
 * @see https://developer.valvesoftware.com/wiki/Server_queries#Multi-packet_Response_Format
 */
export function createPartJoiner(): (part: Buffer) => Buffer | undefined {
  const unfinished = new Map<number, Unfinished>();

  function begin(id: number, total: number): Unfinished {
    const [oldest] = unfinished.keys();
    if (oldest !== undefined && unfinished.size >= MAX_UNFINISHED) unfinished.delete(oldest);
    const begun = { parts: new Map<number, Buffer>(), total, sizeBytes: 0 };
    unfinished.set(id, begun);
    return begun;
  }

  return (part) => {
    const reader = createPacketReader(part);
    const id = reader.readUint32();
    // A few hundred bytes of bzip2 can expand to a gigabyte, and Counter-Strike 2 never compresses.
    if (id >= IS_COMPRESSED) throw new QueryFailure('malformed');
    const total = reader.readByte();
    const number = reader.readByte();
    reader.skip(2); // size of the parts
    const payload = reader.rest();
    const response = unfinished.get(id) ?? begin(id, total);
    const isPossible = total === response.total && total <= MAX_PARTS && number < total;
    if (!isPossible) throw new QueryFailure('malformed');
    if (response.parts.has(number)) return undefined;
    response.parts.set(number, payload);
    response.sizeBytes += payload.length;
    if (response.sizeBytes > MAX_RESPONSE_BYTES) throw new QueryFailure('malformed');
    if (response.parts.size < total) return undefined;
    unfinished.delete(id);
    const inOrder = [...response.parts].sort(([a], [b]) => a - b);
    return Buffer.concat(inOrder.map(([, bytes]) => bytes));
  };
}

/**
 * Why a game server gave no usable response. `malformed`: it is not A2S, or incomplete. `no-game`: the server has no map and
 * no slots, so it is starting, or is not a game server. `refused`: no process listens on the port. `aborted`: by the caller.
 */
export type QueryFailureReason =
  | 'time-out'
  | 'malformed'
  | 'no-game'
  | 'banned-by-server'
  | 'refused'
  | 'unreachable'
  | 'host-unknown'
  | 'aborted';

/** Thrown inside a query; `queryGameServer` turns it into a value. */
export class QueryFailure extends Error {
  override name = 'QueryFailure';

  constructor(
    readonly reason: QueryFailureReason,
    options?: ErrorOptions,
  ) {
    super(`game server query failed: ${reason}`, options);
  }
}
