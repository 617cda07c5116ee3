import { connect } from 'node:net';

/**
 * Sends the head of an upload and none of its body, whose bytes the test sends when it wants; by default as a form with the
 * boundary `x`.
 */
export async function openUpload(origin: string, headers: Record<string, string>) {
  const { hostname, port } = new URL(origin);
  const socket = connect(Number(port), hostname);
  socket.setNoDelay(true);
  socket.on('error', () => undefined);
  /** Sends bytes, and waits until they have left. */
  const write = (bytes: string | Uint8Array) =>
    new Promise<void>((sent) => socket.write(bytes, () => sent()));
  const lines = Object.entries({ 'Content-Type': 'multipart/form-data; boundary=x', ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  /** The beginning of the response: status line, headers, and the part of the body that came with them. */
  const answered = new Promise<string>((settle, reject) => {
    socket.once('data', (bytes) => settle(bytes.toString()));
    socket.once('close', () => reject(new Error('the connection was closed without an answer')));
  });
  answered.catch(() => undefined);
  await write(`POST /account/roundsound HTTP/1.1\r\nHost: ${hostname}\r\n${head}\r\n`);
  return { write, answered, destroy: () => socket.destroy() };
}
