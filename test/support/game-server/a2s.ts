import { createSocket } from 'node:dgram';
import type { Respond } from '../../../src/demo/simulated-game-server.ts';
import { atEnd } from '../cleanup.ts';

/** Packets of game servers byte by byte, and a server that sends whatever a test wants. https://developer.valvesoftware.com/wiki/Server_queries */

const SINGLE = Buffer.from([0xff, 0xff, 0xff, 0xff]);

type InfoFields = {
  hostname?: string | Buffer;
  map?: string;
  appId?: number;
  players?: number;
  maxPlayers?: number;
  /** From the byte of flags on. */
  extraData?: Buffer;
};

/** A whole A2S_INFO response; without extra data, as old servers send it, unless given. */
export function anInfoPacket({
  hostname = 'Raw server',
  map = 'de_mirage',
  appId = 730,
  players = 3,
  maxPlayers = 10,
  extraData = Buffer.alloc(0),
}: InfoFields = {}): Buffer {
  return Buffer.concat([
    SINGLE,
    Buffer.from('I\x11', 'latin1'),
    text(hostname),
    text(map),
    text('csgo'),
    text('Counter-Strike 2'),
    uint16(appId),
    Buffer.from([players, maxPlayers, 0]),
    Buffer.from('dl\0\x01', 'latin1'),
    text('1.41.2.5'),
    extraData,
  ]);
}

/** A whole A2S_PLAYER response. */
export function aPlayersPacket(
  players: { name: string | Buffer; score?: number; seconds?: number }[],
): Buffer {
  const entries = players.map(({ name, score = 0, seconds = 60 }, index) => {
    const numbers = Buffer.alloc(8);
    numbers.writeInt32LE(score, 0);
    numbers.writeFloatLE(seconds, 4);
    return Buffer.concat([Buffer.from([index & 0xff]), text(name), numbers]);
  });
  return Buffer.concat([SINGLE, Buffer.from('D'), Buffer.from([players.length & 0xff]), ...entries]);
}

/** A request for a challenge. */
export function aChallengePacket(challenge: number): Buffer {
  return Buffer.concat([SINGLE, Buffer.from('A'), uint32(challenge)]);
}

/** The response of a server that has banned the client's address. */
export function aBannedPacket(): Buffer {
  return Buffer.concat([SINGLE, Buffer.from('lBanned by server\0')]);
}

/** Makes a simulated server respond only to requests with its challenge: both of them in CS2. */
export function requireChallenge(requests: 'both' | 'players'): Respond {
  const challenge = 0x1234_5678;
  return (response, { isInfo, bytes }) => {
    const shown = isInfo ? bytes.subarray(25, 29) : bytes.subarray(5, 9);
    const isRequired = requests === 'both' || !isInfo;
    return isRequired && !shown.equals(uint32(challenge)) ? [aChallengePacket(challenge)] : [response];
  };
}

/** One part of a split response. */
export function aSplitPart(options: { id?: number; total: number; number: number; payload: Buffer }): Buffer {
  const { id = 7, total, number, payload } = options;
  return Buffer.concat([
    Buffer.from([0xfe, 0xff, 0xff, 0xff]),
    uint32(id),
    Buffer.from([total, number]),
    uint16(1248),
    payload,
  ]);
}

/** Several parts of one whole response. */
export function splitIntoParts(whole: Buffer, { id = 7, partBytes = 40 } = {}): Buffer[] {
  const total = Math.ceil(whole.length / partBytes);
  return Array.from({ length: total }, (_, number) =>
    aSplitPart({
      id,
      total,
      number,
      payload: whole.subarray(number * partBytes, (number + 1) * partBytes),
    }),
  );
}

export function text(value: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from(value), Buffer.from([0])]);
}

export function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

/**
 * A server on loopback that sends back the datagrams which `respond` gives for a request.
 * @param respond `isInfo` tells A2S_INFO from A2S_PLAYER; `send` sends more, at any later time.
 */
export async function startRawServer(
  respond: (request: { isInfo: boolean; bytes: Buffer; send: (datagram: Buffer) => void }) => Buffer[],
) {
  const socket = createSocket('udp4');
  const requests: Buffer[] = [];
  let isStopped = false;
  socket.on('error', () => {});
  socket.on('message', (bytes, from) => {
    requests.push(bytes);
    const send = (datagram: Buffer) => {
      if (!isStopped) socket.send(datagram, from.port, from.address);
    };
    for (const datagram of respond({ isInfo: bytes[4] === 0x54, bytes, send })) send(datagram);
  });
  await new Promise<void>((settle) => socket.bind(0, '127.0.0.1', settle));
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await new Promise<void>((settle) => socket.close(() => settle()));
  };
  atEnd(stop);
  return {
    address: `127.0.0.1:${socket.address().port}`,
    requests,
    stop,
  };
}
