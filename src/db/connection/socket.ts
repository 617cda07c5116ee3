import { connect as dial, type Socket } from 'node:net';
import { createMessageReader, MESSAGE } from './protocol.ts';

/** The argument of the driver's `socket` option. */
type Target = { host: readonly string[]; port: readonly number[]; path?: string | false; ssl?: unknown };

/** How long a resumed process has to read what it was sent while it was suspended. */
const RESUME_MS = 250;

/**
 * Creates the driver's sockets, and ends those it would wait on for ever.
 *
 * - A connection that is closed before the first byte arrives is an error: otherwise the driver reconnects at once,
 *   endlessly, and its query never settles (a proxy or a container's port that accepts while the database is down).
 * - A connection that has been silent for `silenceMs` while a response is due, or the rest of one, is dead: the network
 *   dropped it, or the other side hangs.
 *
 * With TLS, the driver calls `onprotocol` with the socket that carries the protocol, which is watched instead.
 * @param silenceMs longer than the statement timeout; undefined: no limit.
 */
export function createSocketFactory(silenceMs: number | undefined): (target: Target) => Socket {
  let next = 0;
  return ({ host, port, path, ssl }) => {
    const index = next % Math.max(host.length, 1);
    next += 1;
    const socket = path ? dial(path) : dial(port[index] ?? 5432, host[index] ?? 'localhost');
    failOnEarlyEnd(socket);
    const onprotocol = (watched: Socket) => {
      if (watched !== socket) failOnEarlyEnd(watched);
      endSilence(watched, silenceMs);
    };
    if (!ssl) endSilence(socket, silenceMs);
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

function endSilence(socket: Socket, silenceMs: number | undefined): void {
  if (silenceMs === undefined) return;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isFirstWrite = true;
  let lastSent = 0;
  /** How many ReadyForQuery messages are to come; the first one ends the login. */
  let responsesDue = 1;
  const stopTimer = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  const end = () => fail(socket, 'the database has not responded for too long', 'ETIMEDOUT');
  const startTimer = () => {
    // A process that was suspended finds the timer due before it reads what has arrived meanwhile.
    const lookOnceMore = () => {
      timer = setTimeout(end, RESUME_MS);
    };
    timer = setTimeout(lookOnceMore, silenceMs);
  };
  const readSent = createMessageReader((type) => {
    lastSent = type;
    if (type === MESSAGE.query || type === MESSAGE.sync) responsesDue += 1;
  });
  const readReceived = createMessageReader((type) => {
    if (type === MESSAGE.readyForQuery) {
      responsesDue -= 1;
      // What was flushed has its response after those of earlier queries.
      if (responsesDue <= 0 && lastSent !== MESSAGE.flush) stopTimer();
    }
    // The client reads the next rows whenever it likes.
    if (type === MESSAGE.portalSuspended) stopTimer();
  });
  const write = socket.write.bind(socket);
  const watchedWrite = (...args: Parameters<typeof write>) => {
    const [bytes] = args;
    // The first message is the only one without a type.
    if (!isFirstWrite && bytes instanceof Uint8Array) readSent(bytes);
    isFirstWrite = false;
    // Other messages get no response of their own, such as the superfluous one that the driver sends after a COPY.
    const isResponseDue = responsesDue > 0 || lastSent === MESSAGE.flush;
    if (timer === undefined && isResponseDue) startTimer();
    return write(...args);
  };
  Object.assign(socket, { write: watchedWrite });
  socket.on('data', (bytes) => {
    if (bytes instanceof Uint8Array) readReceived(bytes);
    if (timer === undefined) return;
    stopTimer();
    startTimer();
  });
  socket.on('close', stopTimer);
}

function fail(socket: Socket, message: string, code: string): void {
  socket.destroy(Object.assign(new Error(message), { code }));
}
