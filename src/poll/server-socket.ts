import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { errorCode } from '../domain/errors.ts';
import { QueryFailure } from './a2s-protocol.ts';

/** A UDP socket for one server. */
export type ServerSocket = {
  /** Sends a datagram; a failure is reported to the listener. */
  send: (datagram: Buffer) => void;
  /** Sets the listener for datagrams and failures. An earlier failure is reported at once. */
  listen: (listener: SocketListener) => void;
  stopListening: () => void;
  /** Reports a failure to this listener and to every later one. */
  fail: (failure: QueryFailure) => void;
  close: () => void;
};

type SocketListener = {
  /** Called for each datagram of the server; must not throw. */
  onDatagram: (datagram: Buffer) => void;
  onFailure: (failure: QueryFailure) => void;
};

/**
 * Opens a socket that is connected to the server: the system then drops datagrams of others, reports a closed port at
 * once, and picks a random local port. One socket for all servers would offer none of this.
 * @param host an IPv4 or IPv6 address.
 */
export async function openServerSocket(host: string, port: number): Promise<ServerSocket> {
  const socket = createSocket(isIPv6(host) ? 'udp6' : 'udp4');
  let listener: SocketListener | undefined;
  let failure: QueryFailure | undefined;
  let server: { address: string; port: number } | undefined;
  let isClosed = false;

  const fail = (firstFailure: QueryFailure) => {
    failure ??= firstFailure;
    listener?.onFailure(failure);
  };
  const failWith = (cause: unknown) => fail(new QueryFailure(reasonOf(cause), { cause }));
  socket.on('error', failWith);
  socket.on('message', (datagram, from) => {
    // Before it was connected, the socket accepted datagrams from any address.
    if (from.address === server?.address && from.port === server.port) listener?.onDatagram(datagram);
  });
  await new Promise<void>((settle) => {
    socket.once('error', () => settle());
    // Contrary to its type, the callback also gets an error.
    socket.connect(port, host, (error?: Error) => {
      if (error) failWith(error);
      else server = socket.remoteAddress();
      settle();
    });
  });

  return {
    send: (datagram) => {
      if (failure || isClosed) return;
      try {
        socket.send(datagram, (error) => {
          if (error) failWith(error);
        });
      } catch (error) {
        failWith(error);
      }
    },
    listen: (next) => {
      listener = next;
      if (failure) next.onFailure(failure);
    },
    stopListening: () => {
      listener = undefined;
    },
    fail,
    close: () => {
      if (isClosed) return;
      isClosed = true;
      listener = undefined;
      socket.close();
    },
  };
}

function reasonOf(error: unknown): 'refused' | 'unreachable' {
  return errorCode(error) === 'ECONNREFUSED' ? 'refused' : 'unreachable';
}
