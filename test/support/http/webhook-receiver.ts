import type { TLSOptions } from 'bun';
import { Webhook } from 'standardwebhooks';
import { atEnd } from '../cleanup.ts';

export type Received = {
  path: string;
  id: string;
  timestamp: string;
  signature: string;
  text: string;
  body: { type: string; timestamp: string; data: Record<string, unknown> };
};

/** A real endpoint on loopback. */
export type Receiver = {
  origin: string;
  /** Every request in its order, refused ones too. */
  received: Received[];
  /** The types and numbers of the penalties that were taken, in their order, tests and repeated ones too. */
  taken: () => string[];
  /** What it responds with; 204 by default. */
  respond: (request: Received) => Response | Promise<Response>;
};

/** @param options.hostname the loopback address it listens on, 127.0.0.1 by default. */
export function startReceiver({
  tls,
  hostname = '127.0.0.1',
}: {
  tls?: TLSOptions;
  hostname?: string;
} = {}): Receiver {
  const accepted: Received[] = [];
  const server = Bun.serve({
    port: 0,
    hostname,
    ...(tls && { tls }),
    fetch: async (request) => {
      const text = await request.text();
      const header = (name: string) => request.headers.get(`webhook-${name}`) ?? '';
      const received: Received = {
        path: new URL(request.url).pathname,
        id: header('id'),
        timestamp: header('timestamp'),
        signature: header('signature'),
        text,
        body: JSON.parse(text || '{}'),
      };
      receiver.received.push(received);
      const response = await receiver.respond(received);
      if (response.ok) accepted.push(received);
      return response;
    },
  });
  atEnd(() => server.stop(true));
  const receiver: Receiver = {
    origin: `${tls ? 'https' : 'http'}://${hostname}:${server.port}`,
    received: [],
    taken: () => accepted.map(describe),
    respond: () => new Response(null, { status: 204 }),
  };
  return receiver;
}

/** `penalty.created 12`. */
function describe({ body }: Received): string {
  const penalty = body.data.penalty;
  const id = typeof penalty === 'object' && penalty !== null && 'id' in penalty ? ` ${penalty.id}` : '';
  return `${body.type}${id}`;
}

/** Verifies a message as a receiver does. @throws when it is not signed with the secret, or older than five minutes. */
export function verify(secret: string, { id, timestamp, signature, text }: Received): unknown {
  return new Webhook(secret).verify(text, {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  });
}
