import { once } from 'node:events';
import type { Logger } from 'pino';
import type { Db } from '../../db/client.ts';
import type { Leaders, Leadership } from '../../db/leader.ts';
import { prunePenaltyEvents } from '../../queries/penalties/events.ts';
import { deleteOldRows } from '../../queries/retention.ts';
import { startLoop } from '../../runtime/loop.ts';

const EVERY_MS = 86_400_000;

/**
 * Deletes old rows at the start and then once a day, in one process at a time, in steps that hold no lock for long.
 */
export function startRetention({ db, leaders, log }: { db: Db; leaders: Leaders; log: Logger }): Leadership {
  const work = async (signal: AbortSignal) => {
    const deleted = {
      ...(await deleteOldRows(db, signal)),
      penalty_events: await prunePenaltyEvents(db, signal),
    };
    if (Object.values(deleted).some((count) => count > 0)) log.info({ deleted }, 'old rows deleted');
  };
  return leaders.run('retention', async (signal) => {
    const loop = startLoop({
      name: 'deleting old rows',
      everyMs: EVERY_MS,
      startsAtOnce: true,
      work,
      log,
    });
    await once(signal, 'abort');
    loop.stop();
  });
}
