import type { PenaltyEvent } from '../queries/penalties/events.ts';

/** Events as the database had them at one moment, oldest first. */
export type EventBatch = {
  events: readonly PenaltyEvent[];
  /**
   * Whether it is too late to send one of them: it has to be read again, so that people who were erased meanwhile are left
   * out. Never the first, so that a slow database delays events and stops none.
   */
  isStale: (event: PenaltyEvent) => boolean;
  /** Everything up to this id has been read. */
  readUpTo: number;
};

/** How many events one read passes at most, so that it takes milliseconds however few of them are to be sent. */
const MAX_PASSED = 50_000;
/** Events are sent for this long after they were read. */
const FRESH_FOR_MS = 1000;

/**
 * Reads the next batch of events.
 * @param afterId the id of the last event that was read before.
 * @param newestId of all events, more than `afterId`.
 * @param read reads those to be sent after `afterId` and up to `upToId`, at most `limit`.
 */
export async function readEventBatch(
  { afterId, newestId, limit }: { afterId: number; newestId: number; limit: number },
  read: (range: { upToId: number; limit: number }) => Promise<readonly PenaltyEvent[]>,
): Promise<EventBatch> {
  const readAtMs = performance.now();
  const upToId = Math.min(newestId, afterId + MAX_PASSED);
  const events = await read({ upToId, limit });
  const last = events.at(-1);
  return {
    events,
    readUpTo: last && events.length >= limit ? last.id : upToId,
    isStale: (event) => event !== events[0] && performance.now() - readAtMs > FRESH_FOR_MS,
  };
}
