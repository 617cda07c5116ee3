import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../../src/db/database.ts';
import type { BenchOptions } from '../bench.ts';
import { type Child, startChild } from './child.ts';
import { withDatasets } from './penalty-dataset.ts';
import { createOwnerToken, START_COMMAND, serviceEnv } from './service.ts';

export type TokenHeaders = { Authorization: string };
type DatasetService = {
  child: Child;
  headers: TokenHeaders;
  databaseUrl: string;
  /** The process id of PostgreSQL. */
  postmaster: number;
};

/** Runs the service on the generated penalties while work goes on. */
export function withDatasetService<T>(
  options: BenchOptions,
  work: (service: DatasetService) => Promise<T>,
  env: Record<string, string> = {},
): Promise<T> {
  return withDatasets(options, async ({ large: databaseUrl }) => {
    const folder = await mkdtemp(join(tmpdir(), 'community-api-bench-service-'));
    const { db, connection, close } = openDatabase(databaseUrl);
    const headers = { Authorization: `Bearer ${await createOwnerToken(db)}` };
    const [settings] = await connection`select current_setting('data_directory') as folder`;
    await close();
    const postmaster = Number.parseInt(await readFile(`${settings?.folder}/postmaster.pid`, 'utf8'), 10);
    const child = await startChild(START_COMMAND, { ...serviceEnv(databaseUrl, folder), ...env });
    try {
      return await work({ child, headers, databaseUrl, postmaster });
    } finally {
      await child.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
}
