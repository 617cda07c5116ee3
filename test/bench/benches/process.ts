import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { startEmbeddedPostgres } from '../../../src/db/embedded/cluster.ts';
import { startFakeDiscord } from '../../support/discord/fake-discord.ts';
import {
  type Bench,
  type BenchOptions,
  formatMs,
  measureSideBySide,
  NotMeasured,
  type Row,
  requireTool,
} from '../bench.ts';
import { type Child, readResidentMb, startChild } from '../support/child.ts';
import { fillDatabase, START_COMMAND, serviceEnv } from '../support/service.ts';
import { startTemporaryPostgres } from '../support/temporary-postgres.ts';
import { runWrk } from '../support/wrk.ts';

const LIMIT_MB = 150;
const SAMPLE_SECONDS = 5;
const WHY_LARGE =
  "idle, it holds 110 MB, of which 47 are pages of Bun's executable; at full load, garbage grows by two fifths of the heap before it is collected";

export const start: Bench = {
  name: 'start',
  title: 'from starting the program to its first 200, embedded database present',
  run: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'community-api-start-'));
    const log = pino({ level: 'silent' });
    const env = serviceEnv(undefined, folder);
    try {
      await timeFirstAnswer(env);
      const { ours, floor } = await measureSideBySide(
        {
          ours: () => timeFirstAnswer(env),
          floor: async () => {
            const startedAt = performance.now();
            const embedded = await startEmbeddedPostgres({ dataDir: folder, log });
            const tookMs = performance.now() - startedAt;
            await embedded.stop();
            return tookMs;
          },
        },
        { rounds: 5 },
      );
      return [
        {
          what: 'start to the first 200 of /api/v1/servers',
          ours: formatMs(ours),
          floor: `PostgreSQL alone: ${formatMs(floor)}`,
          ratio: `+${formatMs(ours - floor)}`,
          target: '≤ 1500 ms',
          isReached: ours <= 1500,
        },
      ];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function timeFirstAnswer(env: Record<string, string>): Promise<number> {
  const startedAt = performance.now();
  const child = await startChild(START_COMMAND, env);
  const { status } = await fetch(`${child.origin}/api/v1/servers`);
  const tookMs = performance.now() - startedAt;
  await child.stop();
  if (status !== 200) throw new Error(`the first answer was ${status}`);
  return tookMs;
}

export const memory: Bench = {
  name: 'memory',
  title: 'the process under load, with the bot connected',
  run: async (options) => {
    requireTool('wrk');
    if (process.platform !== 'linux') throw new NotMeasured('memory is read from /proc, which is Linux');
    await using postgres = await startTemporaryPostgres('memory');
    const discord = await startFakeDiscord();
    try {
      const { token, player } = await fillDatabase(postgres.url);
      const child = await startChild(START_COMMAND, {
        ...serviceEnv(postgres.url, postgres.folder),
        ROLES: 'api,bot,poller,media,sync',
        DISCORD_TOKEN: discord.token,
        DISCORD_API_URL: discord.apiUrl,
      });
      try {
        return [await loadAndWatch(child, { token, player }, options)];
      } finally {
        await child.stop();
      }
    } finally {
      await discord.stop();
    }
  },
};

/** Lists and penalties in turn, without a pause; memory is read every few seconds. */
async function loadAndWatch(
  child: Child,
  { token, player }: { token: string; player: string },
  { minutes, say }: BenchOptions,
): Promise<Row> {
  const startedAt = performance.now();
  const samples: { atMs: number; mb: number }[] = [];
  const passedMs = () => performance.now() - startedAt;
  const paths = ['/api/v1/servers', `/api/v1/penalties?steamid=${player}`, '/api/v1/penalties?page=7'];
  for (let turn = 0; passedMs() < minutes * 60_000; turn++) {
    const path = paths[turn % paths.length] ?? '';
    await runWrk(`${child.origin}${path}`, {
      seconds: SAMPLE_SECONDS,
      connections: 16,
      headers: { Authorization: `Bearer ${token}` },
    });
    const mb = await readResidentMb(child.pid);
    samples.push({ atMs: passedMs(), mb });
    if (turn % 6 === 0) say(`${Math.round(passedMs() / 1000)} s: ${mb.toFixed(0)} MB`);
  }
  const mean = (from: number, to: number) => {
    const within = samples.filter(({ atMs }) => atMs >= from && atMs < to);
    return within.reduce((sum, { mb }) => sum + mb, 0) / within.length;
  };
  // Means of half a minute, since memory rises and falls with each garbage collection.
  const early = mean(45_000, 75_000);
  const late = mean(passedMs() - 30_000, Number.POSITIVE_INFINITY);
  const largest = Math.max(...samples.map(({ mb }) => mb));
  const growth = late / early - 1;
  const isReached = largest <= LIMIT_MB && growth <= 0.05;
  return {
    what: `memory after ${minutes} minutes of load`,
    ours: `${late.toFixed(0)} MB, at most ${largest.toFixed(0)} MB`,
    floor: `after a minute: ${early.toFixed(0)} MB`,
    ratio: `${growth >= 0 ? '+' : ''}${(growth * 100).toFixed(1)} %`,
    target: `≤ ${LIMIT_MB} MB, growth ≤ 5 %`,
    isReached,
    ...(!isReached && { note: WHY_LARGE }),
  };
}
