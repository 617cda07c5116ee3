import { readFile } from 'node:fs/promises';
import type { BenchOptions } from '../bench.ts';
import { type Child, startChild } from './child.ts';
import { open } from './database-time.ts';
import { openDatasets } from './penalty-dataset.ts';
import { createOwnerToken, START_COMMAND, serviceEnv } from './service.ts';
import { createTemporaryFolder } from './temporary-postgres.ts';

export type TokenHeaders = { Authorization: string };
type DatasetService = AsyncDisposable & {
  child: Child;
  headers: TokenHeaders;
  databaseUrl: string;
  /** The process id of PostgreSQL. */
  postmaster: number;
};

/** Starts the service on the generated penalties; it stops at the end of the block that uses it. */
export async function startDatasetService(
  options: BenchOptions,
  env: Record<string, string> = {},
): Promise<DatasetService> {
  await using stack = new AsyncDisposableStack();
  const { large: databaseUrl } = stack.use(await openDatasets(options));
  const folder = stack.use(await createTemporaryFolder('service'));
  await using database = await open(databaseUrl);
  const headers = { Authorization: `Bearer ${await createOwnerToken(database.db)}` };
  const [settings] = await database.connection`select current_setting('data_directory') as folder`;
  const postmaster = Number.parseInt(await readFile(`${settings?.folder}/postmaster.pid`, 'utf8'), 10);
  const child = stack.use(
    await startChild(START_COMMAND, { ...serviceEnv(databaseUrl, folder.path), ...env }),
  );
  const started = stack.move();
  return {
    child,
    headers,
    databaseUrl,
    postmaster,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
