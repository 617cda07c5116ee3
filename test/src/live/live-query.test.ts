import { afterEach, beforeEach, describe, expect, jest, test } from 'bun:test';
import pino from 'pino';
import { createLiveQuery, type LiveQuery, REFRESH_MS } from '../../../src/live/live-query.ts';

const lines: { msg: string }[] = [];
const log = pino({ level: 'warn' }, { write: (line) => void lines.push(JSON.parse(line)) });

/** A table that may be unreachable. */
const table = { rows: ['a'], isAway: false, reads: 0, delay: Promise.resolve() };
const queries: LiveQuery<string>[] = [];
const changes: string[] = [];

async function openQuery(): Promise<LiveQuery<string>> {
  const query = await createLiveQuery({
    name: 'things',
    log,
    read: async () => {
      table.reads += 1;
      if (table.isAway) throw new Error('away');
      const rows = [...table.rows];
      await table.delay;
      return rows;
    },
    build: (rows) => rows.join('+'),
  });
  query.onChange((value) => void changes.push(value));
  queries.push(query);
  return query;
}

/** Lets time pass, and waits for what it triggers. */
async function pass(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms);
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

beforeEach(() => {
  jest.useFakeTimers();
  Object.assign(table, { rows: ['a'], isAway: false, reads: 0, delay: Promise.resolve() });
  lines.length = 0;
  changes.length = 0;
});
afterEach(() => {
  for (const query of queries.splice(0)) query.stop();
  jest.useRealTimers();
});

describe('a live query', () => {
  test('reads again what changed during a read', async () => {
    const query = await openQuery();
    const { promise, resolve: respond } = Promise.withResolvers<void>();
    table.delay = promise;
    query.invalidate();
    await pass(100);
    table.rows = ['b'];
    query.invalidate();
    await pass(100);
    respond();
    await pass(0);
    expect(query.current()).toBe('b');
  });

  test('calls every listener, even if one before it fails', async () => {
    const query = await openQuery();
    const received: string[] = [];
    query.onChange(() => {
      throw new Error('broken');
    });
    query.onChange((value) => void received.push(value));
    table.rows = ['b'];
    query.invalidate();
    await pass(100);
    expect([received, query.current()]).toEqual([['b'], 'b']);
  });

  test('fails to open when nothing can be read', async () => {
    table.isAway = true;
    expect(openQuery()).rejects.toThrow('away');
  });

  test('shows what was read, and calls back only when it changed', async () => {
    const query = await openQuery();
    expect(query.current()).toBe('a');
    query.invalidate();
    await pass(100);
    expect([table.reads, changes]).toEqual([2, []]);
    table.rows = ['a', 'b'];
    query.invalidate();
    await pass(100);
    expect([query.current(), changes]).toEqual(['a+b', ['a+b']]);
  });

  test('reads once for a burst of notifications', async () => {
    const query = await openQuery();
    for (let i = 0; i < 1000; i++) query.invalidate();
    await pass(100);
    expect(table.reads).toBe(2);
  });

  test('sees a change soon even without a notification', async () => {
    const query = await openQuery();
    table.rows = ['b'];
    await pass(REFRESH_MS);
    expect(query.current()).toBe('b');
  });

  test('keeps what was read before an outage of the database, and logs the outage once', async () => {
    const query = await openQuery();
    table.isAway = true;
    for (let ms = 0; ms < 3_600_000; ms += REFRESH_MS) {
      await pass(REFRESH_MS);
      expect(query.current()).toBe('a');
    }
    expect(table.reads).toBe(801);
    expect(lines.map(({ msg }) => msg)).toEqual(['reading the things failed: retrying']);
    table.isAway = false;
    table.rows = ['c'];
    await pass(REFRESH_MS);
    expect([query.current(), changes]).toEqual(['c', ['c']]);
  });

  test('reads no more once it is stopped', async () => {
    const query = await openQuery();
    query.invalidate();
    query.stop();
    await pass(10_000);
    expect(table.reads).toBe(1);
  });
});
