import type { Logger } from 'pino';
import { type Database, openDatabase } from './database.ts';
import { startEmbeddedPostgres } from './embedded/cluster.ts';
import { migrateDatabase } from './migrate.ts';
import { type DatabaseAddress, toOpenFailure } from './open-failure.ts';

type Where = {
  /** `DATABASE_URL`; undefined for the embedded server under `dataDir`, which this process then runs. */
  databaseUrl: string | undefined;
  dataDir: string;
};

type Options = {
  log: Logger;
  /** Given what was opened, each as soon as there is something to close; the last is closed first. */
  onClose: OnClose;
  /** Gives up at the next step. */
  signal?: AbortSignal | undefined;
  /** Most connections, and where to read: as for {@link openDatabase}. */
  pool?: Parameters<typeof openDatabase>[1];
};

export type OnClose = (name: string, close: () => Promise<void>, options: { limitMs: number }) => unknown;

/** The embedded server may take as long as it needs: one that is killed has to recover. */
const UNLIMITED = { limitMs: Number.POSITIVE_INFINITY };
/** Above the second that running queries are given. */
const POOL_CLOSE = { limitMs: 1200 };

/**
 * Opens the configured database, or the embedded one, at the newest schema.
 * @throws {InvalidInput} or {Unavailable} one line for the operator; the signal's reason.
 */
export async function openMigratedDatabase(
  { databaseUrl, dataDir }: Where,
  { log, onClose, signal, pool }: Options,
): Promise<{ database: Database; address: DatabaseAddress }> {
  const address = await openAddress({ databaseUrl, dataDir }, { log, onClose });
  try {
    await migrateDatabase(address.url, { log, signal });
  } catch (error) {
    throw toOpenFailure(error, address);
  }
  const database = openDatabase(address.url, pool);
  onClose('database', () => database.close({ timeoutSeconds: 1 }), POOL_CLOSE);
  signal?.throwIfAborted();
  return { database, address };
}

/** The configured database as it is, migrated or not; the embedded one is started. */
export async function openAddress(
  { databaseUrl, dataDir }: Where,
  options: Pick<Options, 'log' | 'onClose'>,
): Promise<DatabaseAddress> {
  return {
    url: databaseUrl ?? (await startEmbedded(dataDir, options)),
    isEmbedded: databaseUrl === undefined,
  };
}

async function startEmbedded(
  dataDir: string,
  { log, onClose }: Pick<Options, 'log' | 'onClose'>,
): Promise<string> {
  const { url, stop } = await startEmbeddedPostgres({ dataDir, log });
  onClose('embedded PostgreSQL', stop, UNLIMITED);
  return url;
}
