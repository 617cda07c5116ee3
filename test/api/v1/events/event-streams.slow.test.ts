import { afterAll, expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import pino from 'pino';
import { createEventStreams, KEEP_ALIVE_MS } from '../../../../api/v1/events/event-streams.ts';
import { EVENT_TYPES, type EventType } from '../../../../src/domain/event.ts';
import { createEventReader } from '../../../../src/events/event-reader.ts';
import { listStoredEvents, type PenaltyEvent } from '../../../../src/queries/penalties/events.ts';
import { insertPenalties } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { waitFor } from '../../../support/wait.ts';

/** Ten times what a stream holds for a client that does not read. */
const AMOUNT = 500;
const REASON = 'x'.repeat(20_000);

const { db } = await createTestDatabase();
await insertPenalties(
  db,
  Array.from({ length: AMOUNT }, () => ({ createdAt: new Date(), reason: REASON })),
);
const reader = await createEventReader(db, pino({ level: 'silent' }));
let readAtMs: number | undefined;
const deps = {
  reader,
  listEvents: async (afterId: number, range: Parameters<typeof listStoredEvents>[2]) => {
    const events = await listStoredEvents(db, afterId, { ...range, withSilent: false });
    readAtMs ??= performance.now();
    return events;
  },
  listLiveTokenIds: async (tokenIds: readonly number[]) => new Set(tokenIds),
  cursorOf: String,
  present: ({ id, type, penalty }: PenaltyEvent) => ({ id: String(id), type, data: penalty.reason }),
  now: () => new Date(),
  log: pino({ level: 'silent' }),
};
const streams = createEventStreams(deps);
afterAll(() => {
  streams.stop();
  reader.stop();
});

test('a slow client is not sent what was erased after it was read from the database', async () => {
  const options = { owner: 1, tokenId: 1, expiresAt: null, types: new Set(EVENT_TYPES), afterId: 0 };
  const stream = streams.open(options);
  await waitFor(() => readAtMs !== undefined);
  await db.execute(sql`update penalty_events set reason = 'erased'`);
  await waitFor(() => performance.now() - (readAtMs ?? 0) > 1100);

  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    // If the machine took longer than a client is allowed to, the stream is closed instead.
    if (text.includes(`id: ${AMOUNT}\n`)) break;
  }
  const told = text.split(`"${REASON}"`).length - 1;
  expect(told).toBeGreaterThan(0);
  expect(told).toBeLessThan(AMOUNT / 5);
});

test('a token that expires ends its streams while the database hangs', async () => {
  const hanging = createEventStreams({ ...deps, listLiveTokenIds: () => new Promise(() => {}) });
  // Later than the first check, which waits for the database.
  const expiresAt = new Date(Date.now() + 1500);
  const options = { owner: 1, tokenId: 1, expiresAt, types: new Set(EVENT_TYPES), afterId: AMOUNT };
  const readAll = async () => {
    for await (const _ of hanging.open(options));
  };
  await expect(readAll()).rejects.toThrow('aborted');
  hanging.stop();
});

test('a comment every 15 seconds keeps a stream open, and has the current cursor', async () => {
  expect(KEEP_ALIVE_MS).toBe(15_000);
  const idle = createEventStreams({ ...deps, keepAliveMs: 1 });
  const options = { owner: 1, tokenId: 1, expiresAt: null, types: new Set(EVENT_TYPES), afterId: AMOUNT };
  const chunks = idle.open(options).pipeThrough(new TextDecoderStream()).getReader();
  const first = await chunks.read();
  const second = await chunks.read();
  expect([first.value, second.value]).toEqual([
    `retry: 3000\nid: ${AMOUNT}\n\n`,
    `: keep-alive\nid: ${AMOUNT}\n\n`,
  ]);
  idle.stop();
});

test('a client that resumes ahead of this process is not told an earlier cursor', async () => {
  const behind = createEventStreams({ ...deps, keepAliveMs: 1 });
  const afterId = AMOUNT + 1;
  const options = { owner: 1, tokenId: 1, expiresAt: null, types: new Set(EVENT_TYPES), afterId };
  const chunks = behind.open(options).pipeThrough(new TextDecoderStream()).getReader();
  await chunks.read();
  expect((await chunks.read()).value).toBe(`: keep-alive\nid: ${afterId}\n\n`);
  behind.stop();
});

test('a stream that reads older events for long stays open, and tells how far it is', async () => {
  const events = await listStoredEvents(db, 0, { limit: 3 });
  const slow = createEventStreams({
    ...deps,
    keepAliveMs: 1,
    listEvents: async (afterId) => (afterId === 0 ? events : new Promise<never>(() => {})),
    reader: { ...reader, newestId: () => 1_000_000 },
  });
  const options = { owner: 1, tokenId: 1, expiresAt: null, types: new Set(EVENT_TYPES), afterId: 0 };
  let text = '';
  for await (const chunk of slow.open(options).pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes('keep-alive\nid: 50000\n')) break;
  }
  expect(text.split('event: penalty.created')).toHaveLength(4);
  slow.stop();
});

test('a stream reads only what it sends of older events, up to the newest', async () => {
  await db.execute(sql`update penalty_events set is_silent = true where id <= ${AMOUNT / 2}`);
  const read: PenaltyEvent[] = [];
  const listEvents: typeof deps.listEvents = async (...asked) => {
    const events = await deps.listEvents(...asked);
    read.push(...events);
    return events;
  };
  const counted = createEventStreams({ ...deps, listEvents, keepAliveMs: 1 });
  const textUpTo = async (types: readonly EventType[], end: string) => {
    const options = { owner: 1, tokenId: 1, expiresAt: null, types: new Set(types), afterId: 0 };
    let text = '';
    for await (const chunk of counted.open(options).pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes(end)) break;
    }
    return text;
  };
  await textUpTo(['penalty.lifted', 'server.up'], `keep-alive\nid: ${AMOUNT}\n`);
  await textUpTo(['server.up'], `keep-alive\nid: ${AMOUNT}\n`);
  expect(read).toHaveLength(0);
  await textUpTo(EVENT_TYPES, `id: ${AMOUNT}\nevent: penalty.created\n`);
  expect(read[0]?.id).toBe(AMOUNT / 2 + 1);
  counted.stop();
});

test('older events are read at the pace of their owner, however many streams are open', async () => {
  const waits: number[] = [];
  const paced = createEventStreams({
    ...deps,
    reader: { ...reader, newestId: () => 150_000 },
    listEvents: async () => [],
    keepAliveMs: 1,
    clockMs: () => 0,
    wait: async (ms) => waits.push(ms),
  });
  const readAll = async (owner: number) => {
    const options = { owner, tokenId: 1, expiresAt: null, types: new Set(EVENT_TYPES), afterId: 0 };
    for await (const chunk of paced.open(options).pipeThrough(new TextDecoderStream())) {
      if (chunk.includes('keep-alive\nid: 150000\n')) return;
    }
  };
  // A read covers 50,000 ids that are not sent, so each stream takes three.
  await Promise.all([readAll(1), readAll(1), readAll(2)]);
  expect(waits.sort((a, b) => a - b)).toEqual([250, 250, 500, 500, 750, 1000, 1250]);
  paced.stop();
});
