import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { openDatabase } from '../../../src/db/database.ts';
import { startEmbeddedPostgres } from '../../../src/db/embedded/cluster.ts';
import { createApiToken } from '../../../src/queries/users/api-tokens.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { aSteamId, insertPenalties } from '../../support/database/builders.ts';
import { type Bench, formatMs, formatRatio, percentile, type Row } from '../bench.ts';
import { pathOf, readResidentMb, startChild } from '../support/child.ts';
import { fillDatabase, START_COMMAND, serviceEnv } from '../support/service.ts';
import { runWrk } from '../support/wrk.ts';

const STREAMS = 1000;
const STREAMS_AN_OWNER = 5;
const PENALTIES_A_SECOND = 200;
/** Penalties that one transaction writes. */
const BATCH = 10;
const SECONDS = 20;
const DELAY_TARGET_MS = 500;
const MEMORY_TARGET_MB = 40;

/** Streams open while penalties arrive: delay from commit to client, memory, and what other requests notice. */
export const events: Bench = {
  name: 'events',
  title: `${STREAMS} streams of /events while ${PENALTIES_A_SECOND} penalties a second arrive`,
  run: async ({ say }) => {
    const folder = mkdtempSync(join(tmpdir(), 'community-api-events-'));
    const embedded = await startEmbeddedPostgres({ dataDir: folder, log: pino({ level: 'silent' }) });
    try {
      await fillDatabase(embedded.url);
      const tokens = await createTokens(embedded.url);
      const tokensFile = join(folder, 'tokens.json');
      await Bun.write(tokensFile, JSON.stringify(tokens));
      const service = await startChild(START_COMMAND, serviceEnv(embedded.url, folder));
      const url = `${service.origin}/api/v1/servers`;
      say('alone');
      await runWrk(url, { seconds: 3, connections: 8 });
      const aloneMb = await readResidentMb(service.pid);
      const alone = await loadWhile(url, () => writePenalties(embedded.url));

      say(`with ${STREAMS} streams`);
      const clients = await openStreams(new URL(service.origin).port, tokensFile);
      const loaded = await loadWhile(url, () => writePenalties(embedded.url));
      const loadedMb = await readResidentMb(service.pid);
      const { delaysMs } = await clients.finish();
      await service.stop();
      const expected = (PENALTIES_A_SECOND * SECONDS * STREAMS) / 50;
      return toRows({ alone, loaded, aloneMb, loadedMb, delaysMs, expected });
    } finally {
      await embedded.stop();
      await rm(folder, { recursive: true, force: true });
    }
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

/** The p99 of other requests, in milliseconds, while the work is done. */
async function loadWhile(url: string, work: () => Promise<void>): Promise<number> {
  const [{ p99Ms }] = await Promise.all([runWrk(url, { seconds: SECONDS, connections: 8 }), work()]);
  return p99Ms;
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
    [process.execPath, pathOf('test/bench/support/event-clients.ts'), port, tokensFile, String(STREAMS)],
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

type Figures = {
  alone: number;
  loaded: number;
  aloneMb: number;
  loadedMb: number;
  delaysMs: number[];
  expected: number;
};

function toRows({ alone, loaded, aloneMb, loadedMb, delaysMs, expected }: Figures): Row[] {
  const p99 = percentile(delaysMs, 0.99);
  return [
    {
      what: 'delay from commit to client, p99',
      ours: formatMs(p99),
      floor: `median ${formatMs(percentile(delaysMs, 0.5))}`,
      ratio: `${delaysMs.length} of ${expected} looked at`,
      target: `≤ ${DELAY_TARGET_MS} ms`,
      isReached: p99 <= DELAY_TARGET_MS && delaysMs.length === expected,
    },
    {
      what: `memory with ${STREAMS} streams`,
      ours: `${loadedMb.toFixed(0)} MB`,
      floor: `without: ${aloneMb.toFixed(0)} MB`,
      ratio: `+${(loadedMb - aloneMb).toFixed(0)} MB`,
      target: `≤ +${MEMORY_TARGET_MB} MB`,
      isReached: loadedMb - aloneMb <= MEMORY_TARGET_MB,
    },
    {
      what: 'p99 of GET /servers meanwhile',
      ours: formatMs(loaded),
      floor: `the same penalties, no stream: ${formatMs(alone)}`,
      ratio: formatRatio(loaded / alone),
      target: '≤ 2×',
      isReached: loaded <= 2 * alone,
    },
  ];
}
