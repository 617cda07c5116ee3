import { connect as dial, type Socket } from 'node:net';

/** The argument of the driver's `socket` option. */
type Target = { host: readonly string[]; port: readonly number[]; path?: string | false; ssl?: unknown };

/** Since when a connection waits for a response, by `performance.now()`; undefined: it waits for none. */
export type Traffic = { unansweredSinceMs?: number | undefined };

/**
 * Creates the driver's sockets, and ends those it would wait on for ever.
 *
 * - A connection that is closed before the first byte arrives is an error: otherwise the driver reconnects at once,
 *   endlessly, and its query never settles (a proxy or a container's port that accepts while the database is down).
 * - A connection that was written to and has been silent since is dead: the network dropped it, or the other side hangs.
 *   TCP's keepalive finds only connections without unacknowledged bytes.
 *
 * With TLS, the driver calls `onprotocol` with the socket that carries the protocol, which is watched instead.
 * @param silenceMs how long the server may be silent while a response is due; undefined: as long as it likes.
 * @param onSocket called with the traffic of each socket.
 */
export function createSocketFactory(
  silenceMs: number | undefined,
  onSocket: (traffic: Traffic) => void = () => {},
): (target: Target) => Promise<Socket> {
  let next = 0;
  return async ({ host, port, path, ssl }) => {
    // A missing Unix socket fails at once, before the caller listens for errors: connect in the next microtask.
    await Promise.resolve();
    const index = next % Math.max(host.length, 1);
    next += 1;
    const socket = path ? dial(path) : dial(port[index] ?? 5432, host[index] ?? 'localhost');
    failOnEarlyEnd(socket);
    const onprotocol = (watched: Socket) => {
      if (watched !== socket) failOnEarlyEnd(watched);
      onSocket(watch(watched, silenceMs));
    };
    if (!ssl) onprotocol(socket);
    // TLS checks the certificate against this host name; the driver's errors name both.
    return Object.assign(socket, { host: host[index], port: port[index], onprotocol });
  };
}

function failOnEarlyEnd(socket: Socket): void {
  let hasSpoken = false;
  socket.once('data', () => {
    hasSpoken = true;
  });
  socket.on('end', () => {
    if (!hasSpoken) fail(socket, 'the database closed the connection without a response', 'ECONNRESET');
  });
}

function watch(socket: Socket, silenceMs: number | undefined): Traffic {
  const traffic: Traffic = {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = (ms: number, work: () => void) => {
    timer = setTimeout(work, ms).unref();
  };
  const write = socket.write.bind(socket);
  const end = () => fail(socket, 'the database has not responded for too long', 'ETIMEDOUT');
  const watchedWrite = (...args: Parameters<typeof write>) => {
    if (traffic.unansweredSinceMs === undefined) {
      traffic.unansweredSinceMs = performance.now();
      // Twice: a process that was busy or suspended has not yet read the bytes that arrived meanwhile.
      if (silenceMs !== undefined) wait(silenceMs, () => wait(silenceMs / 10, end));
    }
    return write(...args);
  };
  Object.assign(socket, { write: watchedWrite });
  const rest = () => {
    clearTimeout(timer);
    traffic.unansweredSinceMs = undefined;
  };
  socket.on('data', rest);
  socket.on('close', rest);
  return traffic;
}

function fail(socket: Socket, message: string, code: string): void {
  socket.destroy(Object.assign(new Error(message), { code }));
}
