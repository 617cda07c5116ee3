import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../../src/db/database.ts';
import { createApiToken } from '../../../src/queries/users/api-tokens.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { aSteamId } from '../../support/database/builders.ts';
import type { BenchOptions } from '../bench.ts';
import { type Child, startChild } from './child.ts';
import { prepareDataset, startDatasetServer } from './penalty-dataset.ts';
import { START_COMMAND, serviceEnv } from './service.ts';

export type TokenHeaders = { Authorization: string };
type DatasetService = { child: Child; headers: TokenHeaders; databaseUrl: string };

/** Runs the service on the generated penalties while work goes on. */
export async function withDatasetService<T>(
  options: BenchOptions,
  work: (service: DatasetService) => Promise<T>,
): Promise<T> {
  const server = await startDatasetServer();
  const folder = await mkdtemp(join(tmpdir(), 'community-api-bench-service-'));
  try {
    const databaseUrl = await prepareDataset(server, options);
    const headers = { Authorization: `Bearer ${await makeToken(databaseUrl)}` };
    const child = await startChild(START_COMMAND, serviceEnv(databaseUrl, folder));
    try {
      return await work({ child, headers, databaseUrl });
    } finally {
      await child.stop();
    }
  } finally {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function makeToken(url: string): Promise<string> {
  const { db, close } = openDatabase(url);
  const owner = await saveUser(db, aSteamId(900), { actor: 'operator' });
  const now = new Date();
  const { token } = await createApiToken(db, owner.id, {
    name: `bench ${now.getTime()}`,
    expiresAt: new Date(now.getTime() + 3_600_000),
    now,
    actor: 'operator',
  });
  await close();
  return token;
}
