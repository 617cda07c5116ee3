import { connect as dial, type Socket } from 'node:net';

/** The argument of the driver's `socket` option. */
type Target = { host: readonly string[]; port: readonly number[]; path?: string | false; ssl?: unknown };

/**
 * Creates the driver's sockets, and ends those it would wait on for ever.
 *
 * - A connection that is closed before the first byte arrives is an error: otherwise the driver reconnects at once,
 *   endlessly, and its query never settles (a proxy or a container's port that accepts while the database is down).
 * - A connection whose response is overdue by `silenceMs` is dead: the network dropped it, or the other side hangs.
 *
 * TLS takes over the socket after its first byte: then only the first rule applies.
 * @param silenceMs longer than the statement timeout; undefined: no limit.
 */
export function createSocketFactory(silenceMs: number | undefined): (target: Target) => Socket {
  let next = 0;
  return ({ host, port, path, ssl }) => {
    const index = next % Math.max(host.length, 1);
    next += 1;
    const socket = path ? dial(path) : dial(port[index] ?? 5432, host[index] ?? 'localhost');
    endSilence(socket, ssl ? undefined : silenceMs);
    // TLS checks the certificate against this host name; the driver's errors name both.
    return Object.assign(socket, { host: host[index], port: port[index] });
  };
}

function endSilence(socket: Socket, silenceMs: number | undefined): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hasSpoken = false;
  const fail = (message: string, code: string) => socket.destroy(Object.assign(new Error(message), { code }));
  const write = socket.write.bind(socket);
  if (silenceMs !== undefined) {
    const watchedWrite = (...args: Parameters<typeof write>) => {
      timer ??= setTimeout(() => fail('the database has not responded for too long', 'ETIMEDOUT'), silenceMs);
      return write(...args);
    };
    Object.assign(socket, { write: watchedWrite });
  }
  socket.on('data', () => {
    hasSpoken = true;
    clearTimeout(timer);
    timer = undefined;
  });
  socket.on('end', () => {
    if (!hasSpoken) fail('the database closed the connection without a word', 'ECONNRESET');
  });
  socket.on('close', () => clearTimeout(timer));
}
