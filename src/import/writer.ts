import { connect } from '../db/client.ts';
import { LOCKS } from '../db/locks.ts';
import {
  deleteImportedPenalties,
  type ImportedPenalty,
  markGonePenalties,
  markSeen,
  type SourceKey,
  startImportSession,
  type WriteCounts,
  writeImportedPenalties,
} from '../queries/penalties/imported.ts';

/** Writes the penalties of one source; created by {@link openPenaltyWriter}, and always to be closed. */
export type PenaltyWriter = {
  /** Inserts new rows, updates changed ones, leaves equal ones untouched; written rows stay if the process dies. */
  write: (rows: readonly ImportedPenalty[]) => Promise<WriteCounts>;
  /** Marks rows as existing at the source although they were not written. */
  markSeen: (rows: readonly SourceKey[]) => Promise<void>;
  /** Deletes rows that became part of another row (the halves of a silence). */
  deleteMerged: (rows: readonly SourceKey[]) => Promise<void>;
  /** Marks as gone the rows of these tables that were neither written nor marked as seen. @returns how many. */
  markGone: (sourceTables: readonly string[], now: Date) => Promise<number>;
  close: () => Promise<void>;
};

type Options = {
  isDryRun: boolean;
  /** Whether the source numbers its rows, so that a new row may get the id of a deleted one; false by default. */
  numbersRows?: boolean;
  /** Whether to wait for another import of the same source, or give up at once. */
  waits: boolean;
  onWait?: (() => void) | undefined;
  /** Ends the connection at once, also while a query hangs. */
  signal?: AbortSignal | undefined;
};

/**
 * Each statement takes seconds; the slowest builds an index of millions of rows. An import that waits for another one
 * has no limit.
 */
const STATEMENT_TIMEOUT_MS = 60_000;

/** A mirror that hangs loses the source's lock, so that another process can go on. */
const IDLE_SECONDS = 30;

/**
 * Opens a connection that holds the source's lock until the writer is closed.
 * @returns undefined when another import of the source is running and `waits` is false.
 */
export async function openPenaltyWriter(
  databaseUrl: string,
  source: string,
  { isDryRun, numbersRows = false, waits, onWait, signal }: Options,
): Promise<PenaltyWriter | undefined> {
  const session = connect(databaseUrl, {
    max: 1,
    applicationName: `import ${source}`,
    statementTimeoutMs: waits ? 0 : STATEMENT_TIMEOUT_MS,
    keepsSession: true,
  });
  const end = () => void session.end({ timeout: 0 }).catch(() => {});
  signal?.addEventListener('abort', end);
  try {
    const [lock] =
      await session`select pg_try_advisory_lock(${LOCKS.importSource}, hashtext(${source})) as "isHeld"`;
    if (!lock?.isHeld) {
      if (!waits) {
        await session.end({ timeout: 5 });
        return undefined;
      }
      onWait?.();
      await session`select pg_advisory_lock(${LOCKS.importSource}, hashtext(${source}))`;
    }
    await startImportSession(session, { isDryRun, idleSeconds: waits ? 0 : IDLE_SECONDS });
  } catch (error) {
    await session.end({ timeout: 0 });
    throw error;
  }

  return {
    write: (rows) => writeImportedPenalties(session, source, rows, { isDryRun, keepsReplaced: numbersRows }),
    markSeen: (rows) => markSeen(session, rows),
    // A dry run keeps them, and must not count them as gone.
    deleteMerged: (rows) =>
      isDryRun ? markSeen(session, rows) : deleteImportedPenalties(session, source, rows),
    markGone: (sourceTables, now) => markGonePenalties(session, { source, sourceTables }, { now, isDryRun }),
    close: () => {
      signal?.removeEventListener('abort', end);
      return session.end({ timeout: 5 });
    },
  };
}
