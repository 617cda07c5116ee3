/** Types of messages of PostgreSQL's protocol. https://www.postgresql.org/docs/current/protocol-message-formats.html */
export const MESSAGE = {
  // From the client. The response to a query, and to everything up to a sync, ends with ReadyForQuery.
  query: 'Q'.charCodeAt(0),
  sync: 'S'.charCodeAt(0),
  flush: 'H'.charCodeAt(0),
  // From the server.
  readyForQuery: 'Z'.charCodeAt(0),
  portalSuspended: 's'.charCodeAt(0),
} as const;

/** A type of one byte, and a length of four, which counts itself but not the type. */
const HEADER_BYTES = 5;
const LENGTH_BYTES = 4;

/**
 * Creates a reader of one direction of a connection, to be called with its chunks, however they divide the messages.
 * @param onMessage called with the type of each message that is complete.
 */
export function createMessageReader(onMessage: (type: number) => void): (chunk: Uint8Array) => void {
  let type = 0;
  let length = 0;
  let headerBytes = 0;
  let bodyBytesLeft = 0;
  return (chunk) => {
    let at = 0;
    while (at < chunk.length) {
      if (headerBytes < HEADER_BYTES) {
        const byte = chunk[at] ?? 0;
        if (headerBytes === 0) type = byte;
        else length = length * 256 + byte;
        headerBytes += 1;
        at += 1;
        if (headerBytes < HEADER_BYTES) continue;
        bodyBytesLeft = length - LENGTH_BYTES;
        length = 0;
      } else {
        const read = Math.min(bodyBytesLeft, chunk.length - at);
        bodyBytesLeft -= read;
        at += read;
      }
      if (bodyBytesLeft > 0) continue;
      headerBytes = 0;
      onMessage(type);
    }
  };
}
