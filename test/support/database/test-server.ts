import { existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { connect } from '../../../src/db/client.ts';
import { startEmbeddedPostgres } from '../../../src/db/embedded/cluster.ts';
import { copyClusterTemplate, MIGRATED } from './cluster-template.ts';

/** Memory as a folder, where writing the thousand files of a cluster takes a fraction of the time. */
const IN_MEMORY = '/dev/shm';
/** What has to be free there: tests that write much run beside each other, and a container may have only 64 MB. */
const MIN_FREE_BYTES = 8 * 1024 ** 3;

/** Nothing here outlives the run, so the server need not wait for the disk. */
const FAST_SETTINGS = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=200'];

export type TestServer = { url: string; stop: () => Promise<void> };

/** A PostgreSQL with the migrated, empty database {@link MIGRATED}. */
export async function openTestServer(): Promise<TestServer> {
  const dataDir = mkdtempSync(join(findParent(), 'community-api-test-'));
  await copyClusterTemplate(dataDir);
  const embedded = await startEmbeddedPostgres({
    dataDir,
    log: pino({ level: 'silent' }),
    settings: FAST_SETTINGS,
  });
  // As if it had been migrated just now.
  await runOnServer(
    embedded.url,
    `update penalty_event_state
      set epoch = substr(md5(random()::text), 1, 8), expired_up_to = date_trunc('second', now())`,
    MIGRATED,
  );
  return {
    url: embedded.url,
    stop: async () => {
      await embedded.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export async function runOnServer(serverUrl: string, statement: string, name = 'postgres'): Promise<void> {
  const connection = connect(nameDatabase(serverUrl, name), { max: 1 });
  await connection.unsafe(statement);
  await connection.end();
}

/** The address of a database of a server. */
export function nameDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

function findParent(): string {
  if (!existsSync(IN_MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize > MIN_FREE_BYTES ? IN_MEMORY : tmpdir();
}
