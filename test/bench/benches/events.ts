import { join } from 'node:path';
import { openDatabase } from '../../../src/db/database.ts';
import { createWebhook, removeWebhook } from '../../../src/queries/webhooks/webhooks.ts';
import { insertPenalties } from '../../support/database/builders.ts';
import { type Bench, formatMs, limitFigure, median, percentile, type Row } from '../bench.ts';
import { pathOf, startChild } from '../support/child.ts';
import { open } from '../support/database-time.ts';
import { createOwnerToken, fillDatabase, START_COMMAND, serviceEnv } from '../support/service.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';

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
const DELAY_TARGET_MS = 500;

/** Streams and webhooks while penalties arrive: delay from commit to client. */
export const events: Bench = {
  name: 'events',
  title: `${STREAMS} streams of /events and ${WEBHOOKS} webhooks while ${PENALTIES_A_SECOND} penalties a second arrive`,
  run: async ({ say }) => {
    await using postgres = await startTemporaryPostgres('events');
    await fillDatabase(postgres.url);
    const tokensFile = join(postgres.folder, 'tokens.json');
    await Bun.write(tokensFile, JSON.stringify(await createTokens(postgres.url)));
    await using service = await startChild(START_COMMAND, {
      ...serviceEnv(postgres.url, postgres.folder),
      ROLES: 'api,sync',
      WEBHOOK_ALLOW: '127.0.0.1',
    });
    const { port } = new URL(service.origin);
    const rounds: Round[] = [];
    for (let round = 1; round <= ROUNDS; round++) {
      say(`round ${round} of ${ROUNDS}`);
      const streams = await openStreams(port, tokensFile);
      const endpoints = await openWebhooks(postgres.url);
      await writePenalties(postgres.url);
      rounds.push({ streams: await streams.finish(), webhooks: await endpoints.finish() });
    }
    return toRows(rounds);
  },
};

async function createTokens(url: string): Promise<string[]> {
  await using database = await open(url);
  const tokens: string[] = [];
  for (let number = 0; number < STREAMS / STREAMS_AN_OWNER; number++) {
    tokens.push(await createOwnerToken(database.db, 10_000 + number));
  }
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
    finish: async (): Promise<Received> => {
      const figures = (await (await fetch(endpoint.origin)).json()) as Received;
      for (const id of ids) await removeWebhook(db, id, { actor: 'operator' });
      await close();
      await endpoint[Symbol.asyncDispose]();
      return figures;
    },
  };
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
    finish: async (): Promise<Received> => {
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

/** How many messages came, and the delays of those that were looked at. */
type Received = { delaysMs: number[]; received: number };
type Round = { streams: Received; webhooks: Received };

function toRows(rounds: readonly Round[]): Row[] {
  const written = PENALTIES_A_SECOND * SECONDS * ROUNDS;
  return [
    toDelayRow(
      'from commit to stream, p99',
      rounds.map(({ streams }) => streams),
      (written * STREAMS) / STREAMS_LOOKED_AT_EVERY,
    ),
    toDelayRow(
      'from commit to webhook, p99',
      rounds.map(({ webhooks }) => webhooks),
      written * WEBHOOKS,
    ),
  ];
}

function toDelayRow(what: string, parts: readonly Received[], expected: number): Row {
  const delaysMs = parts.flatMap((part) => part.delaysMs);
  const received = parts.reduce((sum, part) => sum + part.received, 0);
  const row = limitFigure(
    what,
    {
      value: percentile(delaysMs, 0.99),
      floor: `median ${formatMs(median(delaysMs))}`,
      ratio: `${received} of ${expected} arrived`,
    },
    { atMost: DELAY_TARGET_MS },
  );
  return { ...row, isReached: row.isReached && received === expected };
}
