import { connect as dial, type Socket } from 'node:net';

/** The argument of the driver's `socket` option. */
type Target = { host: readonly string[]; port: readonly number[]; path?: string | false; ssl?: unknown };

/** How long a response may take, and how often each socket is looked at. */
export type Silence = { limitMs: number; lookEveryMs: number };

/**
 * Creates the driver's sockets, and ends those it would wait on for ever.
 *
 * - A connection that is closed before the first byte arrives is an error: otherwise the driver reconnects at once,
 *   endlessly, and its query never settles (a proxy or a container's port that accepts while the database is down).
 * - A connection that was written to and has been silent since is dead: the network dropped it, or the other side hangs.
 *   TCP's keepalive finds only connections without unacknowledged bytes.
 *
 * With TLS, the driver calls `onprotocol` with the socket that carries the protocol, which is watched instead.
 * @param silence when a connection is dead; undefined: never.
 * @param onResponse called whenever the server sends something.
 */
export function createSocketFactory(
  silence: Silence | undefined,
  onResponse: () => void = () => {},
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
      watched.on('data', onResponse);
      if (silence) endSilence(watched, silence);
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

function endSilence(socket: Socket, { limitMs, lookEveryMs }: Silence): void {
  let unansweredSinceMs: number | undefined;
  let wasSilent = false;
  const write = socket.write.bind(socket);
  const watchedWrite = (...args: Parameters<typeof write>) => {
    unansweredSinceMs ??= performance.now();
    return write(...args);
  };
  Object.assign(socket, { write: watchedWrite });
  socket.on('data', () => {
    unansweredSinceMs = undefined;
  });
  const timer = setInterval(() => {
    const isSilent = unansweredSinceMs !== undefined && performance.now() - unansweredSinceMs >= limitMs;
    // After a suspension, the process checks before it has read what arrived meanwhile, hence the second check.
    if (isSilent && wasSilent) fail(socket, 'the database has not responded for too long', 'ETIMEDOUT');
    wasSilent = isSilent;
  }, lookEveryMs);
  timer.unref();
  socket.on('close', () => clearInterval(timer));
}

function fail(socket: Socket, message: string, code: string): void {
  socket.destroy(Object.assign(new Error(message), { code }));
}
