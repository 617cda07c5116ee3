import { QueryFailure } from './query-failure.ts';

/** Reads a packet from front to back, numbers in little-endian order. Every read past the end throws {@link QueryFailure} `malformed`. */
export type PacketReader = {
  readByte: () => number;
  readUint16: () => number;
  readUint32: () => number;
  readInt32: () => number;
  /** Of four bytes; may be NaN or infinite. */
  readFloat: () => number;
  /** Up to the next NUL, as UTF-8. Invalid bytes become U+FFFD; a character that is cut at the end is left out. */
  readText: () => string;
  skip: (bytes: number) => void;
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
    readFloat: () => packet.readFloatLE(step(4)),
    readText: () => {
      const end = packet.indexOf(0, offset);
      if (end === -1) throw new QueryFailure('malformed');
      const bytes = packet.subarray(offset, end);
      offset = end + 1;
      // Servers cut names and host names at a number of bytes. A stream keeps an incomplete character for the next chunk.
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
    },
    skip: (bytes) => {
      step(bytes);
    },
    rest: () => packet.subarray(offset),
  };
}
