import { once } from 'node:events';
import type { Logger } from 'pino';
import type { Db } from '../../db/client.ts';
import type { Database } from '../../db/database.ts';
import { type Fence, type Leadership, runAsLeader } from '../../db/leader.ts';
import { prunePenaltyEvents } from '../../queries/penalties/events.ts';
import { deleteOldRows } from '../../queries/retention.ts';
import { runRegularly } from '../../runtime/interval.ts';

const EVERY_MS = 86_400_000;

/**
 * Deletes old rows at the start and then once a day, in one process at a time, in steps that hold no lock for long.
 */
export function startRetention(database: Database, log: Logger): Leadership {
  const work = async (db: Db, signal: AbortSignal) => {
    const deleted = {
      ...(await deleteOldRows(db, signal)),
      penalty_events: await prunePenaltyEvents(db, signal),
    };
    if (Object.values(deleted).some((count) => count > 0)) log.info({ deleted }, 'old rows deleted');
  };
  const lead = async (signal: AbortSignal, fence: Fence) => {
    const fenced = fence(database.db);
    const stop = runRegularly({
      name: 'deleting old rows',
      everyMs: EVERY_MS,
      startsAtOnce: true,
      work: (stopping) => work(fenced, stopping),
      log,
    });
    await once(signal, 'abort');
    stop();
  };
  return runAsLeader({ databaseUrl: database.url, name: 'retention', log, lead });
}
