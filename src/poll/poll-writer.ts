import type { Logger } from 'pino';
import { isDatabaseOutage } from '../db/client.ts';
import type { PolledServer, ServerPoll } from '../queries/servers.ts';
import { TimeLimitExceeded, withTimeLimit } from '../time-limit.ts';

export type PollWriter = {
  /** Settles when the poll is written, or dropped: then, or when the server is gone, without a value. */
  write: (poll: ServerPoll) => Promise<PolledServer | undefined>;
  lastWrittenAt: () => Date | undefined;
  /** Writes what is left, and settles at the latest after `limitMs`. */
  stop: (limitMs: number) => Promise<void>;
};

type Options = {
  save: (polls: ServerPoll[]) => Promise<PolledServer[]>;
  log: Logger;
};

type Pending = { poll: ServerPoll; settle: (saved: PolledServer | undefined) => void };

/** Each write notifies every process, and reading what changed costs them more than waiting a moment. */
const GATHER_MS = 250;
const MAX_BATCH = 500;
/** A write that hangs longer has lost its database. */
const WRITE_LIMIT_MS = 20_000;

/**
 * Writes polls in batches. While the database is out of reach they are dropped: what a server is like now is told by
 * its next poll, and a miss is what a server did, not what our database did.
 */
export function createPollWriter({ save, log }: Options): PollWriter {
  let pending: Pending[] = [];
  let isFailing = false;
  let writtenAt: Date | undefined;
  let flushing: Promise<void> | undefined;

  async function flushAll(): Promise<void> {
    while (pending.length > 0) {
      await Bun.sleep(GATHER_MS);
      const batch = pending.slice(0, MAX_BATCH);
      pending = pending.slice(MAX_BATCH);
      await flush(batch);
    }
    flushing = undefined;
  }

  async function flush(batch: Pending[]): Promise<void> {
    try {
      const saved = await withTimeLimit(save(batch.map(({ poll }) => poll)), WRITE_LIMIT_MS);
      if (isFailing) log.info('polls are written again');
      isFailing = false;
      writtenAt = new Date();
      const byId = new Map(saved.map((row) => [row.serverId, row]));
      for (const { poll, settle } of batch) settle(byId.get(poll.serverId));
    } catch (error) {
      // One that cannot be written must not take the others with it.
      if (batch.length > 1 && !isDatabaseOutage(error) && !(error instanceof TimeLimitExceeded)) {
        for (const one of batch) await flush([one]);
        return;
      }
      if (!isFailing) log.error({ err: error }, 'polls cannot be written: they are dropped until they can');
      isFailing = true;
      for (const { settle } of batch) settle(undefined);
    }
  }

  return {
    write: (poll) =>
      new Promise((settle) => {
        pending.push({ poll, settle });
        flushing ??= flushAll();
      }),
    lastWrittenAt: () => writtenAt,
    stop: async (limitMs) => {
      await Promise.race([flushing, Bun.sleep(limitMs)]);
    },
  };
}
