import { expect, test } from 'bun:test';
import { createServer, type Socket } from 'node:net';
import { openSourceDatabase } from '../../../../src/import/source/open-source.ts';
import { atEnd } from '../../../support/cleanup.ts';
import { waitFor } from '../../../support/wait.ts';

/** A packet of MySQL's protocol. @see https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_packets.html */
function toPacket(number: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(4);
  header.writeUIntLE(payload.length, 0, 3);
  header.writeUInt8(number % 256, 3);
  return Buffer.concat([header, payload]);
}

const CAPABILITIES = 0x000a_a209;
const HANDSHAKE = Buffer.concat([
  Buffer.from('\x0a8.0.0\0\x01\0\0\0saltsalt\0', 'latin1'),
  Buffer.from([CAPABILITIES & 0xff, (CAPABILITIES >> 8) & 0xff, 45, 2, 0, CAPABILITIES >> 16, 0, 21]),
  Buffer.from(`${'\0'.repeat(10)}saltsaltsalt\0mysql_native_password\0`, 'latin1'),
]);
const OK = Buffer.from([0, 0, 0, 2, 0, 0, 0]);
const END = Buffer.from([0xfe, 0, 0, 2, 0]);
const COLUMN = Buffer.from('\x03def\0\0\0\x01a\0\x0c\x2d\0\0\0\x10\0\xfd\0\0\0\0\0', 'latin1');
/** One value of a megabyte. */
const ROW = Buffer.concat([Buffer.from([0xfd, 0, 0, 0x10]), Buffer.alloc(1_048_576, 'x')]);

const TOO_MANY = Buffer.from('\xff\x10\x04#08004Too many connections', 'latin1');

/**
 * A server that responds to `select n` with n rows.
 * @param floods when it begins to send one packet after another, whatever the client does.
 */
async function startServer(floods?: 'instead of a handshake' | 'after an error' | 'after the login') {
  let rowsSent = 0;
  const sockets = new Set<Socket>();
  let bytesSent = 0;
  const server = createServer(async (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      sockets.delete(socket);
      bytesSent += socket.bytesWritten;
    });
    if (floods === 'after an error') socket.write(toPacket(0, TOO_MANY));
    if (floods !== undefined && floods !== 'after the login') return flood(socket);
    socket.write(toPacket(0, HANDSHAKE));
    socket.on('data', async (data) => {
      const [, rows] = /select (\d+)/.exec(data.toString('latin1')) ?? [];
      // The number of the client's packet: 1 for its login.
      if (rows === undefined) {
        socket.write(toPacket(Number(data[3]) + 1, OK));
        // The statement that sets up the session.
        if (floods === 'after the login' && data[3] === 0) await flood(socket);
      } else await sendRows(socket, Number(rows));
    });
  });

  async function flood(socket: Socket): Promise<void> {
    for (let index = 1; !socket.destroyed; index++) {
      socket.write(toPacket(index, ROW));
      while (socket.writableLength > 0 && !socket.destroyed) await new Promise(setImmediate);
    }
  }

  async function sendRows(socket: Socket, rows: number): Promise<void> {
    for (const [index, part] of [Buffer.from([1]), COLUMN, END].entries())
      socket.write(toPacket(index + 1, part));
    for (rowsSent = 0; rowsSent < rows && !socket.destroyed; rowsSent++) {
      socket.write(toPacket(rowsSent + 4, ROW));
      while (socket.writableLength > 0 && !socket.destroyed) await new Promise(setImmediate);
    }
    socket.write(toPacket(rows + 4, END));
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  atEnd(() => server.close());
  return {
    url: `mysql://root@127.0.0.1:${port}/x`,
    rowsSent: () => rowsSent,
    openSockets: () => sockets.size,
    bytesSent: () => bytesSent,
  };
}

test('gives up on a response of more than 64 MB, whatever came before it', async () => {
  const server = await startServer();
  const source = await openSourceDatabase(server.url);
  for (let repeat = 0; repeat < 3; repeat++) expect(await source.select('select 40')).toHaveLength(40);
  await expect(source.select('select 4000')).rejects.toThrow('its response is larger than 64 MB');
  expect(server.rowsSent()).toBeLessThan(1000);
  await waitFor(() => server.openSockets() === 0);
  await source.close();
});

test.each(['instead of a handshake', 'after an error', 'after the login'] as const)(
  'destroys the connection to a server that sends packets without end %s',
  async (floods) => {
    const server = await startServer(floods);
    const reading = openSourceDatabase(server.url).then((source) => source.select('select 1'));
    await expect(reading).rejects.toThrow('Cannot read mysql://127.0.0.1');
    await waitFor(() => server.openSockets() === 0);
    expect(server.bytesSent()).toBeGreaterThan(0);
    expect(server.bytesSent()).toBeLessThan(128 * 1_048_576);
  },
);
