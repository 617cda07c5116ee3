import type { Logger } from 'pino';
import { isDatabaseOutage } from '../db/client.ts';
import type { PolledServer, ServerPoll } from '../queries/servers/polls.ts';
import { withTimeLimit } from '../runtime/time-limit.ts';

export type PollWriter = {
  /** Resolves once the poll is written; with undefined when it was dropped or its server was removed. */
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

/** How long polls are collected for one write, since each write notifies every process, which then reads the changes. */
const GATHER_MS = 250;
const MAX_BATCH = 500;

/**
 * Writes polls in batches. During an outage of the database they are dropped: the next poll has the newest state, and a
 * poll that could not be written does not count as missed.
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
      const saved = await save(batch.map(({ poll }) => poll));
      if (isFailing) log.info('polls are written again');
      isFailing = false;
      writtenAt = new Date();
      const byId = new Map(saved.map((row) => [row.serverId, row]));
      for (const { poll, settle } of batch) settle(byId.get(poll.serverId));
    } catch (error) {
      // One poll that cannot be written must not keep the others from being written.
      if (batch.length > 1 && !isDatabaseOutage(error)) {
        for (const one of batch) await flush([one]);
        return;
      }
      if (!isFailing)
        log.error({ err: error }, 'polls cannot be written: they are dropped until they can be');
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
      await withTimeLimit(Promise.resolve(flushing), limitMs).catch(() => undefined);
    },
  };
}
