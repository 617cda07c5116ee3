import { createPacketReader } from './packet-reader.ts';
import { QueryFailure } from './query-failure.ts';

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

/** @param challenge the server's latest, if it has given one. */
export function buildInfoRequest(challenge: number | undefined): Buffer {
  return buildRequest(A2S_INFO, INFO_PAYLOAD, challenge === undefined ? [] : [challenge]);
}

/** @param challenge the server's latest, if it has given one. */
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
