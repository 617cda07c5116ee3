import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { connect } from '../../../src/db/client.ts';
import { startEmbeddedPostgres } from '../../../src/db/embedded/cluster.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';

/** An empty PostgreSQL for one bench: its address, and the folder that holds it and whatever else the bench writes. */
type TemporaryPostgres = AsyncDisposable & { url: string; folder: string };

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

/** Creates an empty database with the product's tables in place of the one of this name. @returns its address. */
export async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const admin = connect(serverUrl, { max: 1 });
  await admin.unsafe(`drop database if exists ${name} with (force)`);
  await admin.unsafe(`create database ${name}`);
  await admin.end();
  const url = addressOf(serverUrl, name);
  await migrateDatabase(url);
  return url;
}

/** The address of a database on a server. */
export function addressOf(serverUrl: string, name: string): string {
  return new URL(`/${name}`, serverUrl).href;
}
