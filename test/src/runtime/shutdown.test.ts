import { expect, jest, test } from 'bun:test';
import { createShutdown } from '../../../src/runtime/shutdown.ts';

const lines: string[] = [];
const log = { error: (_: object, line: string) => lines.push(line) };

test('stops parts side by side, then what they stand on, the last named first', async () => {
  const { onStop, onStopPart, stop } = createShutdown(log);
  const order: string[] = [];
  onStop('database', () => order.push('database'));
  onStop('server list', () => order.push('server list'));
  // Each part waits for the other to begin, so stopping one after the other would never end.
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  onStopPart('bot', async () => {
    begun[0].resolve();
    await begun[1].promise;
    order.push('part');
  });
  onStopPart('HTTP', async () => {
    begun[1].resolve();
    await begun[0].promise;
    order.push('part');
  });
  await stop();
  expect(order).toEqual(['part', 'part', 'server list', 'database']);
});

test('leaves within five seconds whatever hangs, and stops the rest', async () => {
  const { onStop, onStopPart, stop } = createShutdown(log);
  const hang = () => new Promise<void>(() => {});
  let isDatabaseClosed = false;
  onStop('embedded PostgreSQL', hang, { limitMs: Number.POSITIVE_INFINITY });
  onStop('database', () => {
    isDatabaseClosed = true;
  });
  onStop('notifications', hang);
  onStop('last uses of tokens', () => Promise.reject(new Error('the database is gone')));
  for (const name of ['HTTP', 'bot', 'sounds']) onStopPart(name, hang);
  jest.useFakeTimers();
  let hasStopped = false;
  void stop().then(() => {
    hasStopped = true;
  });
  for (let ms = 0; ms < 5000; ms += 50) {
    jest.advanceTimersByTime(50);
    await new Promise((resolve) => setImmediate(resolve));
  }
  jest.useRealTimers();
  expect(hasStopped).toBe(true);
  expect(isDatabaseClosed).toBe(true);
  const parts = ['HTTP', 'bot', 'sounds'];
  const bases = ['last uses of tokens', 'notifications', 'embedded PostgreSQL'];
  expect(lines).toEqual([...parts, ...bases].map((name) => `${name} did not stop`));
});
