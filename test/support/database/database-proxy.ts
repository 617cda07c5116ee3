import { createServer, connect as dial, type Socket } from 'node:net';
import { atEnd } from '../cleanup.ts';

export type DatabaseProxy = {
  /** The database's address, by way of the proxy. */
  url: string;
  /** Cuts every connection and refuses new ones, as a database that went away. */
  cut: () => void;
  /** Holds every byte back for this long. */
  slow: (delayMs: number) => void;
  /** Discards all bytes: connections stay open without a response. */
  freeze: () => void;
  /** Discards all bytes of the open connections; new ones work, as after a failover that moved the address. */
  strand: () => void;
  /** Holds every byte back until this is released. */
  hold: () => { release: () => void };
  restore: () => void;
  /** Cuts or freezes as soon as a client sends bytes that hold this text, or cuts before the response to them. */
  failAt: (text: string, how: 'cut' | 'freeze' | 'cut-before-response') => void;
  /** Replaces a text in what the database sends, by another one of the same length. */
  replace: (text: string, by: string) => void;
  /** Runs work once, before the first client bytes that contain this text are forwarded. */
  before: (text: string, work: () => Promise<unknown>) => void;
};

/** A TCP proxy on loopback in front of a real PostgreSQL, MariaDB or Redis, so that a test can interrupt its own connections only. */
export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const stranded = new WeakSet<Socket>();
  let state: 'through' | 'cut' | 'frozen' | 'held' = 'through';
  const held: (() => void)[] = [];
  let delayMs = 0;
  let cutsBeforeResponse = false;
  let replacement: { text: string; by: string } | undefined;
  let failure: { text: string; fail: () => void } | undefined;
  let errand: { text: string; work: () => Promise<unknown> } | undefined;

  const server = createServer((client) => {
    if (state === 'cut') {
      client.destroy();
      return;
    }
    const upstream = dial(Number(target.port), target.hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (received: Buffer) => {
        const bytes = from === upstream ? replaceIn(received) : received;
        if (from === client && failure && bytes.includes(failure.text)) failure.fail();
        if (from === upstream && cutsBeforeResponse) cut();
        if (state === 'held') held.push(() => to.write(bytes));
        if (state !== 'through' || stranded.has(from)) return;
        if (from === client && errand && bytes.includes(errand.text)) {
          const { work } = errand;
          errand = undefined;
          from.pause();
          void work().finally(() => {
            to.write(bytes);
            from.resume();
          });
          return;
        }
        if (delayMs === 0) to.write(bytes);
        else setTimeout(() => to.write(bytes), delayMs);
      });
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  const replaceIn = (bytes: Buffer): Buffer =>
    replacement
      ? Buffer.from(bytes.toString('latin1').replaceAll(replacement.text, replacement.by), 'latin1')
      : bytes;
  const disconnect = () => {
    for (const socket of [...sockets]) socket.destroy();
  };
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  const address = server.address();
  const url = new URL(databaseUrl);
  url.port = String(typeof address === 'object' && address ? address.port : 0);
  const cut = () => {
    state = 'cut';
    cutsBeforeResponse = false;
    disconnect();
  };
  const freeze = () => {
    state = 'frozen';
  };
  atEnd(async () => {
    disconnect();
    await new Promise<void>((settle) => server.close(() => settle()));
  });
  return {
    url: url.href,
    cut,
    slow: (ms) => {
      delayMs = ms;
    },
    freeze,
    strand: () => {
      for (const socket of sockets) stranded.add(socket);
    },
    hold: () => {
      state = 'held';
      return {
        release: () => {
          state = 'through';
          for (const send of held.splice(0)) send();
        },
      };
    },
    failAt: (text, how) => {
      const fail = {
        cut,
        freeze,
        'cut-before-response': () => {
          cutsBeforeResponse = true;
        },
      }[how];
      failure = { text, fail };
    },
    replace: (text, by) => {
      replacement = { text, by };
    },
    before: (text, work) => {
      errand = { text, work };
    },
    restore: () => {
      state = 'through';
      delayMs = 0;
      failure = undefined;
      // Bytes that were discarded cannot be sent later.
      disconnect();
    },
  };
}
