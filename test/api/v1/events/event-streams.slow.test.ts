import { afterAll, expect, spyOn, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import pino from 'pino';
import {
  createEventStreams,
  type EventStreams,
  KEEP_ALIVE_MS,
} from '../../../../api/v1/events/event-streams.ts';
import { EVENT_TYPES, formatEventCursor } from '../../../../src/domain/event.ts';
import { createEventReader } from '../../../../src/events/event-reader.ts';
import { listStoredEvents, type StoredEvent } from '../../../../src/queries/events.ts';
import { insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { openUnread } from '../../../support/http/raw-http.ts';
import { waitFor } from '../../../support/wait.ts';

/** Ten times what a stream holds for a client that does not read. */
const AMOUNT = 500;
const REASON = 'x'.repeat(20_000);

const { db } = await createTestDatabase();
const recordEvents = () =>
  insertPenalties(
    db,
    Array.from({ length: AMOUNT }, () => ({ createdAt: new Date(), reason: REASON })),
  );
await recordEvents();
const reader = await createEventReader(db, pino({ level: 'silent' }));
let readAtMs: number | undefined;
type Range = Parameters<typeof listStoredEvents>[2];
const listEvents = (afterId: number, range: Range) =>
  listStoredEvents(db, afterId, { ...range, withSilent: false });
const deps = {
  reader,
  listEvents: async (afterId: number, range: Range) => {
    const events = await listEvents(afterId, range);
    readAtMs ??= performance.now();
    return events;
  },
  log: pino({ level: 'silent' }),
};
const stops = [reader.stop];
afterAll(() => {
  for (const stop of stops) stop();
});

type Options = Parameters<EventStreams['open']>[0];
/** Opens streams with these dependencies instead; by default of all types, from the first event on. */
function createStreams(values: Partial<Parameters<typeof createEventStreams>[0]> = {}) {
  const streams = createEventStreams({ ...deps, ...values });
  stops.push(streams.stop);
  return {
    open: (options: Partial<Options> = {}) =>
      streams
        .open({ owner: 1, tokenId: 1, types: new Set(EVENT_TYPES), afterId: 0, ...options })
        .pipeThrough(new TextDecoderStream()),
  };
}

const cursor = (id: number) => formatEventCursor({ epoch: reader.epoch, id });

/** @returns what was read up to this text. */
async function textUpTo(stream: AsyncIterable<string>, end: string): Promise<string> {
  let text = '';
  for await (const chunk of stream) {
    text += chunk;
    if (text.includes(end)) break;
  }
  return text;
}

/** Streams events after an id to a client that never reads. @returns the bytes that wait when it is disconnected. */
async function measureUnread(afterId: number, whenOpen: () => Promise<unknown>): Promise<number> {
  let enqueuedBytes = 0;
  const enqueue = ReadableStreamDefaultController.prototype.enqueue;
  const counting = spyOn(ReadableStreamDefaultController.prototype, 'enqueue').mockImplementation(function (
    this: ReadableStreamDefaultController,
    chunk: Uint8Array,
  ) {
    enqueuedBytes += chunk.length;
    enqueue.call(this, chunk);
  });
  const streams = createEventStreams({ ...deps, listEvents });
  stops.push(streams.stop);
  const server = Bun.serve({
    port: 0,
    development: false,
    fetch: () => new Response(streams.open({ owner: 1, tokenId: 1, types: new Set(EVENT_TYPES), afterId })),
  });
  const client = openUnread(server.url.origin, '/');
  await waitFor(() => enqueuedBytes > 0);
  await whenOpen();
  await waitFor(() => streams.count() === 0);
  const { length: receivedBytes } = await client.readToEnd();
  counting.mockRestore();
  await server.stop();
  return enqueuedBytes - receivedBytes;
}

test('a stream queues at most half a megabyte for a client that never reads, and Bun as much again', async () => {
  expect(await measureUnread(0, async () => {})).toBeLessThan(500_000);
});

test('a slow client is not sent what was erased after it was read from the database', async () => {
  const stream = createStreams().open();
  await waitFor(() => readAtMs !== undefined);
  await db.execute(sql`update penalty_events set reason = 'erased'`);
  await waitFor(() => performance.now() - (readAtMs ?? 0) > 1100);
  // If the machine took longer than a client is allowed to, the stream is closed instead.
  const text = await textUpTo(stream, `id: ${cursor(AMOUNT)}\n`);
  const count = text.split(`"${REASON}"`).length - 1;
  expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThan(AMOUNT / 5);
});

test.each([
  ['a comment every 15 seconds keeps a stream open, and has the current cursor', AMOUNT],
  ['a client that resumes ahead of this process is not sent an earlier cursor', AMOUNT + 1],
])('%s', async (_, afterId) => {
  expect(KEEP_ALIVE_MS).toBe(15_000);
  const chunks = createStreams({ keepAliveMs: 1 }).open({ afterId }).getReader();
  expect([(await chunks.read()).value, (await chunks.read()).value]).toEqual([
    `retry: 3000\nid: ${cursor(afterId)}\n\n`,
    `: keep-alive\nid: ${cursor(afterId)}\n\n`,
  ]);
});

test('a stream that reads older events for long stays open, and sends its position', async () => {
  const events = await listStoredEvents(db, 0, { limit: 3 });
  const { open } = createStreams({
    keepAliveMs: 1,
    listEvents: async (afterId) => (afterId === 0 ? events : new Promise<never>(() => {})),
    reader: { ...reader, newestId: () => 1_000_000 },
  });
  const text = await textUpTo(open(), `keep-alive\nid: ${cursor(50_000)}\n`);
  expect(text.split('event: penalty.created')).toHaveLength(4);
});

test('a stream reads only what it sends of older events, up to the newest', async () => {
  await db.execute(sql`update penalty_events set is_silent = true where id <= ${AMOUNT / 2}`);
  const read: StoredEvent[] = [];
  const { open } = createStreams({
    keepAliveMs: 1,
    listEvents: async (...range) => {
      const events = await deps.listEvents(...range);
      read.push(...events);
      return events;
    },
  });
  const end = `keep-alive\nid: ${cursor(AMOUNT)}\n`;
  await textUpTo(open({ types: new Set(['penalty.lifted', 'server.up']) }), end);
  await textUpTo(open({ types: new Set(['server.up']) }), end);
  expect(read).toHaveLength(0);
  await textUpTo(open(), `id: ${cursor(AMOUNT)}\nevent: penalty.created\n`);
  expect(read[0]?.id).toBe(AMOUNT / 2 + 1);
});

test('older events are read at the pace of their owner, however many streams are open', async () => {
  const waits: number[] = [];
  const { open } = createStreams({
    reader: { ...reader, newestId: () => 150_000 },
    listEvents: async () => [],
    keepAliveMs: 1,
    clockMs: () => 0,
    wait: async (ms) => waits.push(ms),
  });
  const readAll = (owner: number) => textUpTo(open({ owner }), `keep-alive\nid: ${cursor(150_000)}\n`);
  // A read covers 50,000 ids that are not sent, so each stream takes three.
  await Promise.all([readAll(1), readAll(1), readAll(2)]);
  expect(waits.sort((a, b) => a - b)).toEqual([250, 250, 500, 500, 750, 1000, 1250]);
});

test('a stream does not queue most of a burst of ten megabytes for a client that never reads', async () => {
  const waitingBytes = await measureUnread(AMOUNT, async () => {
    await recordEvents();
    reader.invalidate();
    await waitFor(() => reader.newestId() === 2 * AMOUNT);
  });
  // The connection ends with what Bun had taken from the queue and not sent, too.
  expect(waitingBytes).toBeLessThan(2_000_000);
});
