import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { startEmbeddedPostgres } from '../../../src/db/embedded/cluster.ts';

/** An empty PostgreSQL for one bench: its address, and the folder that holds it and whatever else the bench writes. */
export type TemporaryPostgres = AsyncDisposable & { url: string; folder: string };

/** Starts a PostgreSQL in a new folder; `await using` stops it and removes the folder at the end of its block. */
export async function startTemporaryPostgres(bench: string): Promise<TemporaryPostgres> {
  const folder = await createTemporaryFolder(bench);
  const { url, stop } = await startEmbeddedPostgres({ dataDir: folder.path, log: pino({ level: 'silent' }) });
  return {
    url,
    folder: folder.path,
    [Symbol.asyncDispose]: async () => {
      await stop();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** A new folder, which is removed at the end of the block that uses it. */
export async function createTemporaryFolder(bench: string): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), `community-api-bench-${bench}-`));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
