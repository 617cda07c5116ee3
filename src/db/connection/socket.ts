import { connect as dial, type Socket } from 'node:net';

/** What the driver hands to its `socket` option. */
type Target = { host: readonly string[]; port: readonly number[]; path?: string | false; ssl?: unknown };

/**
 * Makes the driver's sockets, and ends those it would wait on for ever.
 *
 * - A connection closed before a byte came is an error: the driver would dial again at once, without end, and its query
 *   would never settle (a proxy or a container's port that accepts for a database that is away).
 * - A connection on which a response is overdue for `silenceMs` is dead: the network forgot it, or the other side hangs.
 *
 * TLS takes the socket over after its first byte: there only the first rule holds.
 * @param silenceMs longer than any statement may run; undefined: no limit.
 */
export function createSocketFactory(silenceMs: number | undefined): (target: Target) => Socket {
  let next = 0;
  return ({ host, port, path, ssl }) => {
    const index = next % Math.max(host.length, 1);
    next += 1;
    const socket = path ? dial(path) : dial(port[index] ?? 5432, host[index] ?? 'localhost');
    endSilence(socket, ssl ? undefined : silenceMs);
    // TLS checks the certificate against the name it finds here.
    return Object.assign(socket, { host: host[index] });
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
