import { QueryFailure } from './query-failure.ts';

/** Reads a packet from front to back, numbers in little-endian order. Every read past the end throws {@link QueryFailure} `malformed`. */
export type PacketReader = {
  readByte: () => number;
  readUint16: () => number;
  readUint32: () => number;
  readInt32: () => number;
  /** Up to the next NUL, as UTF-8; invalid bytes become U+FFFD. */
  readText: () => string;
  skip: (bytes: number) => void;
  isAtEnd: () => boolean;
  /** What has not been read yet. */
  rest: () => Buffer;
};

/** Starts at the first byte of `packet`, which is not copied. */
export function createPacketReader(packet: Buffer): PacketReader {
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
    readText: () => {
      const end = packet.indexOf(0, offset);
      if (end === -1) throw new QueryFailure('malformed');
      const text = packet.toString('utf8', offset, end);
      offset = end + 1;
      return text;
    },
    skip: (bytes) => {
      step(bytes);
    },
    isAtEnd: () => offset === packet.length,
    rest: () => packet.subarray(offset),
  };
}
