import { afterAll } from 'bun:test';
import { mkdtempSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { describeCluster, openCluster } from '../../../src/db/embedded/data-folder.ts';
import { createServer, type PostgresServer } from './replicated-postgres.ts';

const PACKAGES = '/usr/lib/postgresql';

/** Versions of PostgreSQL that Debian's packages installed, the oldest first. */
export const SYSTEM_VERSIONS: readonly string[] = listVersions();

/** A server of the system's oldest PostgreSQL, of this test file's own; stopped after its tests. */
export async function startSystemPostgres(): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'community-api-system-postgres-'));
  await Bun.$`chmod 755 ${folder}`;
  const bin = join(PACKAGES, SYSTEM_VERSIONS[0] ?? '', 'bin');
  const programs = {
    initdb: join(bin, 'initdb'),
    pg_ctl: join(bin, 'pg_ctl'),
    postgres: join(bin, 'postgres'),
  };
  const cluster = { ...(await describeCluster(folder, [])), ...programs };
  const password = await openCluster(cluster, pino({ level: 'silent' }));
  const server = createServer(cluster, password);
  await server.start();
  afterAll(async () => {
    await server.kill();
    await rm(folder, { recursive: true, force: true });
  });
  return server;
}

function listVersions(): string[] {
  try {
    return readdirSync(PACKAGES).sort((a, b) => Number(a) - Number(b));
  } catch {
    return [];
  }
}
