import { afterAll } from 'bun:test';
import { mkdtempSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pino from 'pino';
import { type Cluster, describeCluster, openCluster } from '../../../src/db/embedded/data-folder.ts';
import { createServer, type PostgresServer } from './replicated-postgres.ts';

const PACKAGES = '/usr/lib/postgresql';

/** Versions of PostgreSQL that Debian's packages installed, the oldest first. */
export const SYSTEM_VERSIONS: readonly string[] = listVersions();

/** The programs of the system's oldest PostgreSQL. */
export const SYSTEM_BIN = join(PACKAGES, SYSTEM_VERSIONS[0] ?? '', 'bin');

/** A server of the system's oldest PostgreSQL, of this test file's own; stopped after its tests. */
export async function startSystemPostgres(): Promise<PostgresServer & { password: string; dir: string }> {
  const cluster = await describeSystemCluster();
  const password = await openCluster(cluster, pino({ level: 'silent' }));
  return { ...(await startCluster(cluster, password)), password, dir: cluster.dir };
}

/** Another server of the same PostgreSQL, on the data that `fill` puts into its folder; stopped after the file's tests. */
export async function startFilledPostgres(
  password: string,
  fill: (dir: string) => Promise<unknown>,
): Promise<PostgresServer> {
  const cluster = await describeSystemCluster();
  await fill(cluster.dir);
  return startCluster(cluster, password);
}

async function describeSystemCluster(): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'community-api-system-postgres-'));
  await Bun.$`chmod 755 ${folder}`;
  const programs = {
    initdb: join(SYSTEM_BIN, 'initdb'),
    pg_ctl: join(SYSTEM_BIN, 'pg_ctl'),
    postgres: join(SYSTEM_BIN, 'postgres'),
  };
  return { ...(await describeCluster(folder, [])), ...programs };
}

async function startCluster(cluster: Cluster, password: string): Promise<PostgresServer> {
  const server = createServer(cluster, password);
  await server.start();
  afterAll(async () => {
    await server.kill();
    await rm(dirname(cluster.dir), { recursive: true, force: true });
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
