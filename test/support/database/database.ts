import { afterAll } from 'bun:test';
import { existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { connect } from '../../../src/db/client.ts';
import { type Database, openDatabase } from '../../../src/db/database.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/db/embedded/cluster.ts';
import { copyClusterTemplate, MIGRATED } from './cluster-template.ts';

/** Memory as a folder, where writing the thousand files of a cluster takes a fraction of the time. */
const IN_MEMORY = '/dev/shm';
/** What has to be free there: tests that write much run beside each other, and a container may have only 64 MB. */
const MIN_FREE_BYTES = 8 * 1024 ** 3;

/** Nothing here outlives the run, so the server need not wait for the disk. */
const FAST_SETTINGS = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=200'];

type TestServer = { embedded: EmbeddedPostgres; dataDir: string; nextNumber: number };

/** Test files share one server, each in a database of its own; the preload stops it. */
const shared = globalThis as typeof globalThis & { testServer?: Promise<TestServer> };

type Options = {
  max?: number;
  /** Without the schema, for tests of what makes it. */
  isMigrated?: boolean;
};

/**
 * A migrated, empty database of this test file's own on a real PostgreSQL.
 * Closed and dropped when the file's tests are done.
 */
export async function createTestDatabase({ max = 8, isMigrated = true }: Options = {}): Promise<Database> {
  shared.testServer ??= startTestServer();
  const server = await shared.testServer;
  server.nextNumber += 1;
  const name = `test_${server.nextNumber}`;
  // Copies files: by default, PostgreSQL would write every page to its WAL too, which takes four times as long.
  const template = isMigrated ? MIGRATED : 'template0';
  await runOnServer(server, `create database ${name} template ${template} strategy file_copy`);
  const url = databaseUrl(server, name);
  const database = openDatabase(url, { max });
  afterAll(async () => {
    await database.close({ timeoutSeconds: 1 });
    await runOnServer(server, `drop database ${name} with (force)`);
  });
  return database;
}

/** Called once, after the last test file. */
export async function stopTestServer(): Promise<void> {
  const server = await shared.testServer;
  // Files that run in one process afterwards start their own.
  delete shared.testServer;
  if (!server) return;
  await server.embedded.stop();
  await rm(server.dataDir, { recursive: true, force: true });
}

async function startTestServer(): Promise<TestServer> {
  const dataDir = mkdtempSync(join(findParent(), 'community-api-test-'));
  await copyClusterTemplate(dataDir);
  const embedded = await startEmbeddedPostgres({
    dataDir,
    log: pino({ level: 'silent' }),
    settings: FAST_SETTINGS,
  });
  const server = { embedded, dataDir, nextNumber: 0 };
  // As if it had been migrated just now.
  await runOnServer(
    server,
    `update penalty_event_state
      set epoch = substr(md5(random()::text), 1, 8), expired_up_to = date_trunc('second', now())`,
    MIGRATED,
  );
  return server;
}

function findParent(): string {
  if (!existsSync(IN_MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize > MIN_FREE_BYTES ? IN_MEMORY : tmpdir();
}

async function runOnServer(server: TestServer, statement: string, name = 'postgres'): Promise<void> {
  const connection = connect(databaseUrl(server, name), { max: 1 });
  await connection.unsafe(statement);
  await connection.end();
}

function databaseUrl(server: TestServer, name: string): string {
  const url = new URL(server.embedded.url);
  url.pathname = `/${name}`;
  return url.href;
}
