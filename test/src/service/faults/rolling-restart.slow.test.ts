import { expect, test } from 'bun:test';
import { connect } from 'node:net';
import { openEventStream } from '../../../support/http/event-stream.ts';
import { findFreePort } from '../../../support/machine/free-port.ts';
import { openApiProcesses } from '../../../support/service/api-processes.ts';
import { bearer } from '../../../support/service/service.ts';
import { waitFor } from '../../../support/wait.ts';

const { token, startService } = await openApiProcesses();

test('SIGTERM makes /readyz 503, serves requests with Connection: close, then closes the listener', async () => {
  const port = findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const program = await startService(port);
  const stream = await openEventStream(`${origin}/api/v1/events`, bearer(token).headers);
  const idle = connect(port, '127.0.0.1');
  const isIdleClosed = new Promise((settle) => idle.on('close', settle));
  const sent = performance.now();
  program.kill('SIGTERM');
  const isUnready = async () => (await fetch(`${origin}/readyz`)).status === 503;
  await Promise.all([waitFor(isUnready), stream.closed]);
  let served = 0;
  const ask = () => fetch(`${origin}/api/v1/servers`).catch(() => undefined);
  for (let isListening = true; isListening; ) {
    // Ten at once: a busy machine may leave time for only one round.
    const responses = await Promise.all(Array.from({ length: 10 }, ask));
    isListening = !responses.includes(undefined);
    for (const response of responses.filter((one) => one !== undefined)) {
      expect([response.status, response.headers.get('connection')]).toEqual([200, 'close']);
      served += 1;
    }
    await Bun.sleep(50);
  }
  expect(performance.now() - sent).toBeGreaterThan(2900);
  expect(served).toBeGreaterThan(5);
  expect(await program.exited).toBe(0);
  await isIdleClosed;
});
