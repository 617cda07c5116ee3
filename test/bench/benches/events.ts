import { join } from 'node:path';
import { openDatabase } from '../../../src/db/database.ts';
import { createApiToken } from '../../../src/queries/users/api-tokens.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { createWebhook, removeWebhook } from '../../../src/queries/webhooks/webhooks.ts';
import { aSteamId, insertPenalties } from '../../support/database/builders.ts';
import { type Bench, formatMs, formatRatio, median, percentile, type Row } from '../bench.ts';
import { pathOf, readProcessorMs, readResidentMb, startChild } from '../support/child.ts';
import { fillDatabase, START_COMMAND, serviceEnv } from '../support/service.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';
import { runWrk } from '../support/wrk.ts';

const STREAMS = 1000;
const STREAMS_AN_OWNER = 5;
/** As in event-clients.ts. */
const STREAMS_LOOKED_AT_EVERY = 50;
const WEBHOOKS = 20;
const PENALTIES_A_SECOND = 200;
/** Penalties that one transaction writes. */
const BATCH = 10;
const ROUNDS = 3;
const SECONDS = 10;
/** The clients of streams and webhooks only get idle processor time: normally they run on other machines. */
const WHEN_IDLE = ['chrt', '--idle', '0'];
/** Other requests meanwhile. */
const REQUESTS_A_SECOND = 200;
const DELAY_TARGET_MS = 500;
const MEMORY_TARGET_MB = 40;

/** Streams and webhooks while penalties arrive: delay from commit to client, memory, and what other requests notice. */
export const events: Bench = {
  name: 'events',
  title: `${STREAMS} streams of /events and ${WEBHOOKS} webhooks while ${PENALTIES_A_SECOND} penalties a second arrive`,
  run: async ({ say }) => {
    await using postgres = await startTemporaryPostgres('events');
    await fillDatabase(postgres.url);
    const tokens = await createTokens(postgres.url);
    const tokensFile = join(postgres.folder, 'tokens.json');
    await Bun.write(tokensFile, JSON.stringify(tokens));
    const service = await startChild(START_COMMAND, {
      ...serviceEnv(postgres.url, postgres.folder),
      ROLES: 'api,sync',
      WEBHOOK_ALLOW: '127.0.0.1',
    });
    const url = `${service.origin}/api/v1/servers`;
    const measure = async (): Promise<Load> => {
      const beforeMs = await readProcessorMs(service.pid);
      const p99Ms = await loadWhile(url, () => writePenalties(postgres.url));
      const processorMs = (await readProcessorMs(service.pid)) - beforeMs;
      return { p99Ms, processorMs, memoryMb: await readResidentMb(service.pid) };
    };
    const { port } = new URL(service.origin);
    await runWrk(url, { seconds: 3, connections: 8 });
    const rounds: Figures[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      say(`round ${round}: alone`);
      const alone = await measure();
      say(`round ${round}: with ${STREAMS} streams`);
      const first = await openStreams(port, tokensFile);
      const streams = { ...(await measure()), ...(await first.finish()) };
      say(`round ${round}: with ${STREAMS} streams and ${WEBHOOKS} webhooks`);
      const second = await openStreams(port, tokensFile);
      const endpoints = await openWebhooks(postgres.url);
      const both = { ...(await measure()), ...(await second.finish()) };
      rounds.push({ alone, streams, both, webhooks: await endpoints.finish() });
    }
    await service.stop();
    return toRows(joinRounds(rounds));
  },
};

async function createTokens(url: string): Promise<string[]> {
  const { db, close } = openDatabase(url);
  const tokens: string[] = [];
  for (let number = 0; number < STREAMS / STREAMS_AN_OWNER; number++) {
    const owner = await saveUser(db, aSteamId(10_000 + number), { actor: 'operator' });
    const { token } = await createApiToken(db, owner.id, {
      name: 'bench',
      now: new Date(),
      actor: 'operator',
    });
    tokens.push(token);
  }
  await close();
  return tokens;
}

async function openWebhooks(url: string) {
  const endpoint = await startChild([
    ...WHEN_IDLE,
    process.execPath,
    pathOf('test/bench/support/webhook-endpoint.ts'),
  ]);
  const { db, close } = openDatabase(url);
  const ids: number[] = [];
  for (let number = 0; number < WEBHOOKS; number++) {
    const webhook = { url: `${endpoint.origin}/${number}`, types: undefined, now: new Date() };
    ids.push((await createWebhook(db, { ...webhook, actor: 'operator' })).id);
  }
  return {
    finish: async (): Promise<Figures['webhooks']> => {
      const figures = (await (await fetch(endpoint.origin)).json()) as Figures['webhooks'];
      for (const id of ids) await removeWebhook(db, id, { actor: 'operator' });
      await close();
      await endpoint.stop();
      return figures;
    },
  };
}

/**
 * The p99 of other requests in milliseconds while the work is done: each is sent when it is due, whether or not the one
 * before was answered, so that what stalls the service is seen by all that come meanwhile.
 */
async function loadWhile(url: string, work: () => Promise<void>): Promise<number> {
  const latenciesMs: number[] = [];
  const asked: Promise<void>[] = [];
  const ask = async () => {
    const startMs = performance.now();
    const response = await fetch(url);
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${url}: ${response.status}`);
    latenciesMs.push(performance.now() - startMs);
  };
  const timer = setInterval(() => asked.push(ask()), 1000 / REQUESTS_A_SECOND);
  await work();
  clearInterval(timer);
  await Promise.all(asked);
  return percentile(latenciesMs, 0.99);
}

/** Each penalty tells in its reason when it was sent off, a moment before its commit. */
async function writePenalties(url: string): Promise<void> {
  const { db, close } = openDatabase(url, { max: 2 });
  const pauseMs = (1000 * BATCH) / PENALTIES_A_SECOND;
  const startedAt = performance.now();
  for (let batch = 0; batch < (PENALTIES_A_SECOND * SECONDS) / BATCH; batch++) {
    const dueInMs = startedAt + batch * pauseMs - performance.now();
    if (dueInMs > 0) await Bun.sleep(dueInMs);
    await insertPenalties(
      db,
      Array.from({ length: BATCH }, () => ({ createdAt: new Date(), reason: `sent ${Date.now()} end` })),
    );
  }
  await close();
}

async function openStreams(port: string, tokensFile: string) {
  const child = Bun.spawn(
    [
      ...WHEN_IDLE,
      process.execPath,
      pathOf('test/bench/support/event-clients.ts'),
      port,
      tokensFile,
      String(STREAMS),
    ],
    { stdin: 'pipe', stdout: 'pipe', stderr: 'inherit' },
  );
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await lines.read();
  if (!value?.startsWith('open')) throw new Error(`the streams did not open: ${value}`);
  return {
    finish: async (): Promise<{ delaysMs: number[] }> => {
      await Bun.sleep(1000);
      await child.stdin.end();
      let text = '';
      for (;;) {
        const { value: part, done } = await lines.read();
        if (done) break;
        text += part;
      }
      return JSON.parse(text);
    },
  };
}

type Load = { p99Ms: number; memoryMb: number; processorMs: number };
type Delays = { delaysMs: number[] };
type Figures = {
  alone: Load;
  streams: Load & Delays;
  both: Load & Delays;
  webhooks: Delays & { received: number };
};

/** Medians, all delays, and the most memory against what the service held before its first stream. */
function joinRounds(rounds: readonly Figures[]): Figures {
  const join = (loads: readonly Load[]): Load => ({
    p99Ms: median(loads.map(({ p99Ms }) => p99Ms)),
    processorMs: median(loads.map(({ processorMs }) => processorMs)),
    memoryMb: Math.max(...loads.map(({ memoryMb }) => memoryMb)),
  });
  const delaysOf = (parts: readonly Delays[]) => parts.flatMap(({ delaysMs }) => delaysMs);
  const alone = rounds.map((round) => round.alone);
  const streams = rounds.map((round) => round.streams);
  const both = rounds.map((round) => round.both);
  const webhooks = rounds.map((round) => round.webhooks);
  return {
    alone: { ...join(alone), memoryMb: alone[0]?.memoryMb ?? 0 },
    streams: { ...join(streams), delaysMs: delaysOf(streams) },
    both: { ...join(both), delaysMs: delaysOf(both) },
    webhooks: {
      delaysMs: delaysOf(webhooks),
      received: webhooks.reduce((sum, { received }) => sum + received, 0),
    },
  };
}

function toRows({ alone, streams, both, webhooks }: Figures): Row[] {
  const looked = (PENALTIES_A_SECOND * SECONDS * ROUNDS * STREAMS) / STREAMS_LOOKED_AT_EVERY;
  const posted = PENALTIES_A_SECOND * SECONDS * ROUNDS * WEBHOOKS;
  const withAll = `with ${STREAMS} streams and ${WEBHOOKS} webhooks`;
  return [
    toDelayRow(`delay from commit to stream, p99, ${STREAMS} streams alone`, streams, {
      count: streams.delaysMs.length,
      expected: looked,
    }),
    toDelayRow(`delay from commit to stream, p99, ${withAll}`, both, {
      count: both.delaysMs.length,
      expected: looked,
    }),
    toDelayRow(`delay from commit to webhook, p99, ${withAll}`, webhooks, {
      count: webhooks.received,
      expected: posted,
    }),
    toMemoryRow(`memory with ${STREAMS} streams`, alone, streams),
    toMemoryRow(`memory ${withAll}`, alone, both),
    toOthersRow(`p99 of GET /servers with ${STREAMS} streams`, alone, streams),
    toOthersRow(`p99 of GET /servers ${withAll}`, alone, both),
    toProcessorRow(`processor use of the service with ${STREAMS} streams`, alone, streams),
    toProcessorRow(`processor use of the service ${withAll}`, alone, both),
  ];
}

function toDelayRow(
  what: string,
  { delaysMs }: Delays,
  { count, expected }: { count: number; expected: number },
): Row {
  const p99 = percentile(delaysMs, 0.99);
  return {
    what,
    ours: formatMs(p99),
    floor: `median ${formatMs(percentile(delaysMs, 0.5))}`,
    ratio: `${count} of ${expected} arrived`,
    target: `≤ ${DELAY_TARGET_MS} ms`,
    isReached: p99 <= DELAY_TARGET_MS && count === expected,
  };
}

function toMemoryRow(what: string, alone: Load, { memoryMb }: Load): Row {
  const more = memoryMb - alone.memoryMb;
  return {
    what,
    ours: `${memoryMb.toFixed(0)} MB`,
    floor: `without: ${alone.memoryMb.toFixed(0)} MB`,
    ratio: `+${more.toFixed(1)} MB`,
    target: `≤ +${MEMORY_TARGET_MB} MB`,
    isReached: more <= MEMORY_TARGET_MB,
  };
}

function toOthersRow(what: string, alone: Load, { p99Ms }: Load): Row {
  return {
    what,
    ours: formatMs(p99Ms),
    floor: `the same penalties, nobody subscribed: ${formatMs(alone.p99Ms)}`,
    ratio: formatRatio(p99Ms / alone.p99Ms),
    target: '≤ 2×',
    isReached: p99Ms <= 2 * alone.p99Ms,
  };
}

/** The figure that a loaded machine changes least. */
function toProcessorRow(what: string, alone: Load, { processorMs }: Load): Row {
  const coresOf = (ms: number) => `${(ms / 1000 / SECONDS).toFixed(2)} cores`;
  return {
    what,
    ours: coresOf(processorMs),
    floor: `the same penalties, nobody subscribed: ${coresOf(alone.processorMs)}`,
    ratio: formatRatio(processorMs / alone.processorMs),
    target: '< 1 core',
    isReached: processorMs < SECONDS * 1000,
  };
}
