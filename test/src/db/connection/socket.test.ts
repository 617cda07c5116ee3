import { afterAll, expect, test } from 'bun:test';
import { createServer, type Socket } from 'node:net';
import postgres from 'postgres';
import { createSocketFactory } from '../../../../src/db/connection/socket.ts';

const accepted: Socket[] = [];
let onAccept: (socket: Socket) => void = () => {};
const server = createServer((socket) => {
  accepted.push(socket);
  socket.on('error', () => {});
  onAccept(socket);
});
await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
const address = server.address();
const port = typeof address === 'object' && address ? address.port : 0;
const target = { host: ['127.0.0.1'], port: [port] };
afterAll(() => {
  for (const socket of accepted) socket.destroy();
  server.close();
});

function failureOf(socket: Socket): Promise<string> {
  return new Promise((settle) => {
    socket.on('error', (error) => settle('code' in error ? String(error.code) : error.message));
    socket.on('close', (hadError) => settle(`closed, error ${hadError}`));
  });
}

test('an error of the driver names host and port', async () => {
  onAccept = () => {};
  const options = { max: 1, connect_timeout: 0.1, socket: createSocketFactory(undefined) };
  const sql = postgres(`postgres://127.0.0.1:${port}/x`, options);
  await expect(sql`select 1`.execute()).rejects.toThrow(`write CONNECT_TIMEOUT 127.0.0.1:${port}`);
  await sql.end({ timeout: 0 });
});

test('a connection closed before a byte came is an error, so that its query settles', async () => {
  onAccept = (socket) => socket.end();
  expect(await failureOf(await createSocketFactory(undefined)(target))).toBe('ECONNRESET');
});

test('a connection that has spoken may close in peace', async () => {
  onAccept = (socket) => socket.end('hello');
  expect(await failureOf(await createSocketFactory(undefined)(target))).toBe('closed, error false');
});

test('a connection on which a response is overdue is ended', async () => {
  onAccept = () => {};
  const socket = await createSocketFactory(50)(target);
  const failure = failureOf(socket);
  socket.write('question');
  expect(await failure).toBe('ETIMEDOUT');
});

test('hosts are taken in turn, and the name stays for TLS to check', async () => {
  onAccept = () => {};
  const make = createSocketFactory(undefined);
  const two = { host: ['127.0.0.1', 'localhost'], port: [port, port] };
  const sockets = await Promise.all([make(two), make(two), make(two)]);
  const hosts = sockets.map((socket) => Reflect.get(socket, 'host'));
  expect(hosts).toEqual(['127.0.0.1', 'localhost', '127.0.0.1']);
  for (const socket of sockets) socket.destroy();
});
