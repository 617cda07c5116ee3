import { afterEach, expect, test } from 'bun:test';
import { createExports, SLOWEST_BYTES_PER_SECOND } from '../../../api/http/export-streams.ts';
import { waitFor } from '../../support/wait.ts';

const errors = { second: () => new Error('second'), tooMany: () => new Error('too many') };
const member = (id: number) => ({ id, isPreferred: false });

const closed: number[] = [];
afterEach(() => {
  closed.length = 0;
});

/** An export without an end, in pieces of this size. */
const endless =
  (id: number, bytes = 1024) =>
  async () => {
    async function* produce() {
      for (;;) yield new Uint8Array(bytes);
    }
    return { chunks: produce(), close: async () => void closed.push(id) };
  };

test('reads only one piece ahead of the client', async () => {
  let pieces = 0;
  async function* produce() {
    for (;;) {
      pieces += 1;
      yield new Uint8Array(1024);
    }
  }
  const { begin } = createExports(errors);
  const body = await begin(member(1), async () => ({ chunks: produce(), close: async () => {} }));
  const reader = body.getReader();
  for (let piece = 0; piece < 3; piece++) await reader.read();
  await new Promise((resolve) => setImmediate(resolve));
  expect(pieces).toBeLessThanOrEqual(4);
  await reader.cancel();
});

test('an export that nobody begins to read is closed, and frees its owner', async () => {
  const { begin } = createExports(errors, { beginMs: 20, checkEveryMs: 60_000, wholeMs: 60_000 });
  const body = await begin(member(1), endless(1));
  expect(begin(member(1), endless(1))).rejects.toThrow('second');
  await waitFor(() => closed.length === 1);
  expect(body.getReader().read()).rejects.toThrow('nobody reads the export');
  await (await begin(member(1), endless(1))).cancel();
});

test('a client that reads too slowly is disconnected, though not in the first two intervals', async () => {
  const checkEveryMs = 100;
  const { begin } = createExports(errors, { beginMs: 60_000, checkEveryMs, wholeMs: 60_000 });
  const readAll = async (id: number, bytes: number) => {
    const reader = (await begin(member(id), endless(id, bytes))).getReader();
    const sinceMs = performance.now();
    try {
      while (performance.now() - sinceMs < 8 * checkEveryMs) {
        await reader.read();
        await Bun.sleep(10);
      }
      await reader.cancel();
      return 'served';
    } catch (error) {
      expect(performance.now() - sinceMs).toBeGreaterThanOrEqual(2.9 * checkEveryMs);
      return error instanceof Error && error.message;
    }
  };
  const fast = readAll(1, SLOWEST_BYTES_PER_SECOND);
  expect(await readAll(2, 16)).toBe('the client reads too slowly');
  expect(await fast).toBe('served');
});

test('an export survives a client that reads much at once and then nothing for longer than a check', async () => {
  const checkEveryMs = 50;
  const { begin } = createExports(errors, { beginMs: 60_000, checkEveryMs, wholeMs: 60_000 });
  const reader = (await begin(member(1), endless(1, 64 * SLOWEST_BYTES_PER_SECOND))).getReader();
  await reader.read();
  await Bun.sleep(5 * checkEveryMs);
  expect((await reader.read()).done).toBe(false);
  expect(closed).toEqual([]);
  await reader.cancel();
});

test('a database that is slow is not held against the client', async () => {
  const { begin } = createExports(errors, { beginMs: 60_000, checkEveryMs: 20, wholeMs: 60_000 });
  async function* produce() {
    // The client may take half a second for these.
    yield new Uint8Array(SLOWEST_BYTES_PER_SECOND / 2);
    for (let piece = 0; piece < 6; piece++) {
      await Bun.sleep(150);
      yield new Uint8Array(16);
    }
  }
  const body = await begin(member(1), async () => ({ chunks: produce(), close: async () => {} }));
  expect((await new Response(body).arrayBuffer()).byteLength).toBe(SLOWEST_BYTES_PER_SECOND / 2 + 6 * 16);
});

test('keeps the last of four slots for exports of those who are preferred', async () => {
  const { begin, stop } = createExports(errors);
  for (const id of [1, 2, 3]) await begin(member(id), endless(id));
  expect(begin(member(4), endless(4))).rejects.toThrow('too many');
  await begin({ id: 5, isPreferred: true }, endless(5));
  expect(begin({ id: 6, isPreferred: true }, endless(6))).rejects.toThrow('too many');
  stop();
  expect(closed).toEqual([1, 2, 3, 5]);
});
