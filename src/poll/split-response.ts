import { createPacketReader } from './packet-reader.ts';
import { QueryFailure } from './query-failure.ts';

/** Reassembles split responses. https://developer.valvesoftware.com/wiki/Server_queries#Multi-packet_Response_Format */
export type SplitResponses = {
  /**
   * Adds one part, without its first four bytes.
   * @returns the whole packet once its last part has arrived.
   * @throws {QueryFailure} `malformed` for invalid or compressed parts.
   */
  add: (part: Buffer) => Buffer | undefined;
};

/** 255 players whose names have 32 characters of four bytes are 35,000 bytes, 29 parts of Valve's 1248. */
const MAX_PARTS = 32;
const MAX_RESPONSE_BYTES = 65_536;
/** A repeated request may get two responses, with interleaved parts. */
const MAX_UNFINISHED = 2;
/** The highest bit of a response's id marks compression. */
const IS_COMPRESSED = 0x8000_0000;

type Unfinished = { parts: Map<number, Buffer>; total: number; sizeBytes: number };

/** Keeps at most two unfinished responses of 64 KiB each; the oldest is dropped for a new one. */
export function createSplitResponses(): SplitResponses {
  const unfinished = new Map<number, Unfinished>();

  function begin(id: number, total: number): Unfinished {
    const [oldest] = unfinished.keys();
    if (oldest !== undefined && unfinished.size >= MAX_UNFINISHED) unfinished.delete(oldest);
    const begun = { parts: new Map<number, Buffer>(), total, sizeBytes: 0 };
    unfinished.set(id, begun);
    return begun;
  }

  return {
    add: (part) => {
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
    },
  };
}
