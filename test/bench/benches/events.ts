import { join } from 'node:path';
import { type Db, inTransaction } from '../../../src/db/client.ts';
import { createWebhook, removeWebhook } from '../../../src/queries/webhooks/webhooks.ts';
import { insertPenalties } from '../../support/database/builders.ts';
import { type Bench, formatMs, limitFigure, median, percentile, type Row, repeat } from '../bench.ts';
import { startChild, toCommand } from '../support/child.ts';
import { open } from '../support/database-time.ts';
import { createTokenHeaders, startService } from '../support/service.ts';

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

/** How many messages came, and the delays of those that were looked at. */
type Received = { delaysMs: number[]; received: number };

/** Streams and webhooks while penalties arrive: delay from commit to client. */
export const events: Bench = {
  name: 'events',
  title: `${STREAMS} streams of /events and ${WEBHOOKS} webhooks while ${PENALTIES_A_SECOND} penalties a second arrive`,
  run: async ({ say }) => {
    await using service = await startService('events', {
      env: { ROLES: 'api,sync', WEBHOOK_ALLOW: '127.0.0.1' },
    });
    await using database = await open(service.databaseUrl);
    const { db } = database;
    const tokensFile = join(service.folder, 'tokens.json');
    const tokens = await repeat(STREAMS / STREAMS_AN_OWNER, (number) =>
      createTokenHeaders(db, 10_000 + number),
    );
    await Bun.write(tokensFile, JSON.stringify(tokens));
    const rounds = await repeat(ROUNDS, async (round) => {
      say(`round ${round + 1} of ${ROUNDS}`);
      const clients = toCommand('event-clients.ts', service.origin, tokensFile, String(STREAMS));
      await using streams = await startChild([...WHEN_IDLE, ...clients]);
      await using endpoint = await startChild([...WHEN_IDLE, ...toCommand('webhook-endpoint.ts')]);
      const webhooks = await repeat(WEBHOOKS, (number) =>
        inTransaction(db, (tx) =>
          createWebhook(tx, {
            url: `${endpoint.origin}/${number}`,
            types: undefined,
            now: new Date(),
            actor: 'operator',
          }),
        ),
      );
      await writePenalties(db);
      await Bun.sleep(1000);
      for (const { id } of webhooks) await removeWebhook(db, id, { actor: 'operator' });
      return { streams: await readReceived(streams.origin), webhooks: await readReceived(endpoint.origin) };
    });
    const written = PENALTIES_A_SECOND * SECONDS * ROUNDS;
    const streams = rounds.map((round) => round.streams);
    const webhooks = rounds.map((round) => round.webhooks);
    return [
      toRow('from commit to stream, p99', streams, (written * STREAMS) / STREAMS_LOOKED_AT_EVERY),
      toRow('from commit to webhook, p99', webhooks, written * WEBHOOKS),
    ];
  },
};

/** Each penalty tells in its reason when it was sent off, a moment before its commit. */
async function writePenalties(db: Db): Promise<void> {
  const pauseMs = (1000 * BATCH) / PENALTIES_A_SECOND;
  const startedAt = performance.now();
  await repeat((PENALTIES_A_SECOND * SECONDS) / BATCH, async (batch) => {
    const dueInMs = startedAt + batch * pauseMs - performance.now();
    if (dueInMs > 0) await Bun.sleep(dueInMs);
    const penalty = { createdAt: new Date(), reason: `sent ${Date.now()} end` };
    await insertPenalties(db, Array(BATCH).fill(penalty));
  });
}

async function readReceived(origin: string): Promise<Received> {
  return (await (await fetch(origin)).json()) as Received;
}

function toRow(what: string, parts: readonly Received[], expected: number): Row {
  const delaysMs = parts.flatMap((part) => part.delaysMs);
  const received = parts.reduce((sum, part) => sum + part.received, 0);
  const row = limitFigure(what, percentile(delaysMs, 0.99), {
    atMost: 500,
    floor: `median ${formatMs(median(delaysMs))}`,
    ratio: `${received} of ${expected} arrived`,
  });
  return { ...row, isReached: row.isReached && received === expected };
}
