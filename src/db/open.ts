import type { Logger } from 'pino';
import { requireNoRestore } from '../runtime/folder.ts';
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
  /** Called for whatever has to be closed, as soon as it is open; to be closed in reverse order. */
  onClose: OnClose;
  /** Aborts at the next step. */
  signal?: AbortSignal | undefined;
  /** Options of {@link openDatabase}. */
  pool?: Parameters<typeof openDatabase>[1];
};

export type OnClose = (name: string, close: () => Promise<void>, options: { limitMs: number }) => unknown;

/** The embedded server may take as long as it needs: if killed, it has to recover at the next start. */
const UNLIMITED = { limitMs: Number.POSITIVE_INFINITY };
/** A little more than the second that running queries get. */
const POOL_CLOSE = { limitMs: 1200 };

/**
 * Opens the configured database, or the embedded one, at the newest schema.
 * @param where.storageDir `STORAGE_DIR`, where an interrupted restore leaves its mark.
 * @throws {InvalidInput} or {Unavailable} one line for the operator; the signal's reason.
 */
export async function openMigratedDatabase(
  { databaseUrl, dataDir, storageDir }: Where & { storageDir: string },
  { log, onClose, signal, pool }: Options,
): Promise<{ database: Database; address: DatabaseAddress }> {
  requireNoRestore(storageDir);
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
