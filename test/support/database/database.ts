import { afterAll } from 'bun:test';
import { connectionOf, type Db } from '../../../src/db/client.ts';
import { type Database, openDatabase } from '../../../src/db/database.ts';
import { MIGRATED, nameDatabase, openTestServer, runOnServer, type TestServer } from './test-server.ts';

/** The server that `test/main.ts` started for all files; without it, the files of this process start one. */
const SERVER_URL = process.env.TEST_POSTGRES_URL;

/** Of this process; the preload stops it. */
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
  const serverUrl = SERVER_URL ?? (await startTestServer()).url;
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`;
  // Copies files: by default, PostgreSQL would write every page to its WAL too, which takes four times as long.
  const template = isMigrated ? MIGRATED : 'template0';
  await runOnServer(serverUrl, `create database ${name} template ${template} strategy file_copy`);
  const database = openDatabase(nameDatabase(serverUrl, name), { max });
  afterAll(async () => {
    await database.close({ timeoutSeconds: 1 });
    await runOnServer(serverUrl, `drop database ${name} with (force)`);
  });
  return database;
}

function startTestServer(): Promise<TestServer> {
  shared.testServer ??= openTestServer();
  return shared.testServer;
}

/** The address of a database that {@link createTestDatabase} made. */
export function urlOf(db: Db): string {
  const { host, port, user, pass, database } = connectionOf(db).options;
  return `postgres://${user}:${pass}@${host[0]}:${port[0]}/${database}`;
}

/** Called once, after the last test file. */
export async function stopTestServer(): Promise<void> {
  const server = await shared.testServer;
  // Files that run in one process afterwards start their own.
  delete shared.testServer;
  await server?.stop();
}
