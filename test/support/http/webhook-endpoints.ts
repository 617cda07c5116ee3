import { afterAll } from 'bun:test';
import net from 'node:net';
import { createEndpointRules } from '../../../src/events/webhooks/endpoint.ts';
import { type Receiver, startReceiver } from './webhook-receiver.ts';

/** What is sent to the endpoints of tests. */
export const MESSAGE = { headers: { 'content-type': 'application/json' }, body: '{"type":"x"}' };
export const { mayConnect: loopbackOnly } = createEndpointRules(['127.0.0.1']);

const stops: (() => unknown)[] = [];
afterAll(async () => {
  for (const stop of stops) await stop();
});

/** A receiver of webhooks that is stopped when the file's tests are done. */
export function aReceiver(options?: Parameters<typeof startReceiver>[0]): Receiver {
  const receiver = startReceiver(options);
  stops.push(receiver.stop);
  return receiver;
}

/** A server of raw TCP, and the connections that were made to it; stopped when the file's tests are done. */
export async function aRawServer(serve: (socket: net.Socket) => void) {
  const connections: net.Socket[] = [];
  const server = net.createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => {});
    serve(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(() => {
    for (const socket of connections) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { origin: `http://127.0.0.1:${address.port}`, connections };
}

/** Why a message could not be sent, or the status that it was answered with. */
export async function failureOf(sent: Promise<number>): Promise<string> {
  const error: unknown = await sent.then(
    (status) => `status ${status}`,
    (error: unknown) => error,
  );
  return error instanceof Error && 'reason' in error ? String(error.reason) : String(error);
}
