import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import packageJson from '../../../package.json';
import { type Db, inTransaction } from '../../../src/db/client.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { createApiToken } from '../../../src/queries/users/api-tokens.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import {
  aServerState,
  aSteamId,
  insertPenalties,
  insertServer,
  saveServerPoll,
} from '../../support/database/builders.ts';
import type { BenchOptions } from '../bench.ts';
import { type Child, startChild } from './child.ts';
import { open } from './database-time.ts';
import { openDatasets } from './penalty-dataset.ts';
import { createTemporaryFolder, startTemporaryPostgres } from './temporary-postgres.ts';

/** `bun start`, whose shell becomes the service. */
export const START_COMMAND = ['sh', '-c', `exec ${packageJson.scripts.start}`];
const SERVERS = 20;
const PENALTIES = 10_000;

/** Has {@link PLAYER_PENALTIES} penalties in a database that the bench fills. */
export const PLAYER = aSteamId(1);
const PLAYER_PENALTIES = 60;

type TokenHeaders = { Authorization: string };

/** The service, its database, and the headers of an API token; it stops at the end of the block that uses it. */
type Service = Child & { headers: TokenHeaders; databaseUrl: string; folder: string };

/** The service's environment: only the API, limits nobody reaches; without an address the embedded database of the folder. */
export function serviceEnv(databaseUrl: string | undefined, folder: string): Record<string, string> {
  return {
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    DATA_DIR: folder,
    STORAGE_DIR: join(folder, 'storage'),
    HOST: '127.0.0.1',
    PORT: '0',
    ROLES: 'api',
    RATE_LIMIT_PUBLIC: '1000000000',
    RATE_LIMIT_PROTECTED: '1000000000',
  };
}

/**
 * Starts the service on a new database with twenty servers `s1` to `s20`, ten thousand penalties, and a snapshot of each
 * server.
 * @param options.addresses of the servers, for a service that polls.
 * @param options.env what differs from {@link serviceEnv}.
 */
export async function startService(
  bench: string,
  { addresses = [], env = {} }: { addresses?: readonly string[]; env?: Record<string, string> } = {},
): Promise<Service> {
  await using stack = new AsyncDisposableStack();
  const { url: databaseUrl, folder } = stack.use(await startTemporaryPostgres(bench));
  await migrateDatabase(databaseUrl);
  await using database = await open(databaseUrl);
  await fillDatabase(database.db, addresses);
  const headers = await createTokenHeaders(database.db);
  const child = stack.use(await startChild(START_COMMAND, { ...serviceEnv(databaseUrl, folder), ...env }));
  return { ...child, headers, databaseUrl, folder, ...toDisposable(stack.move()) };
}

/** Starts the service on the generated penalties. `postmaster` is the process id of PostgreSQL. */
export async function startDatasetService(
  options: BenchOptions,
  env: Record<string, string> = {},
): Promise<Service & { postmaster: number }> {
  await using stack = new AsyncDisposableStack();
  const { large: databaseUrl } = stack.use(await openDatasets(options));
  const { path: folder } = stack.use(await createTemporaryFolder('service'));
  await using database = await open(databaseUrl);
  const headers = await createTokenHeaders(database.db);
  const [settings] = await database.connection`select current_setting('data_directory') as folder`;
  const postmaster = Number.parseInt(await readFile(`${settings?.folder}/postmaster.pid`, 'utf8'), 10);
  const child = stack.use(await startChild(START_COMMAND, { ...serviceEnv(databaseUrl, folder), ...env }));
  return { ...child, headers, databaseUrl, folder, postmaster, ...toDisposable(stack.move()) };
}

function toDisposable(stack: AsyncDisposableStack): AsyncDisposable {
  return { [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

async function fillDatabase(db: Db, addresses: readonly string[]): Promise<void> {
  for (let number = 1; number <= SERVERS; number++) {
    const address = addresses[number - 1];
    const server = { name: `Only Mirage #${number}`, slug: `s${number}`, ...(address && { address }) };
    const { id } = await insertServer(db, server);
    const players = Array.from({ length: number % 10 }, (_, i) => ({ name: `Gracz ${i}`, score: 20 - i }));
    const hostname = `Only Mirage | ${number}`;
    const state = aServerState({ hostname, players, playersCount: players.length, pingMs: 12 });
    await saveServerPoll(db, id, { state, polledAt: new Date() });
  }
  const startMs = Date.UTC(2026, 0, 1);
  const rows = Array.from({ length: PENALTIES }, (_, i) => ({
    playerSteamId: i < PLAYER_PENALTIES ? PLAYER : aSteamId(2 + (i % 2000)),
    createdAt: new Date(startMs + ((i * 37) % PENALTIES) * 60_000),
  }));
  for (let from = 0; from < PENALTIES; from += 1000) await insertPenalties(db, rows.slice(from, from + 1000));
  await db.execute('vacuum analyze');
}

/** A token of {@link aSteamId} of this number, who is created if there is none. It ends after two hours. */
export async function createTokenHeaders(db: Db, number = 900): Promise<TokenHeaders> {
  const actor = 'operator';
  const owner = await saveUser(db, aSteamId(number), { actor });
  const now = new Date();
  const expiresAt = new Date(now.getTime() + 2 * 3_600_000);
  const name = `bench ${now.getTime()}`;
  const { token } = await inTransaction(db, (tx) =>
    createApiToken(tx, owner.id, { name, expiresAt, now, actor }),
  );
  return { Authorization: `Bearer ${token}` };
}
