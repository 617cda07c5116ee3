import type { StoredEvent } from '../queries/penalties/events.ts';

/** Events as the database had them at one moment, oldest first. */
export type EventBatch = {
  events: readonly StoredEvent[];
  /**
   * Whether an event was read too long ago to be sent: it has to be read again, because somebody may have been erased
   * meanwhile. Never true of the first one, so that a slow database delays events but does not stop them.
   */
  isStale: (event: StoredEvent) => boolean;
  /** Everything up to this id has been read. */
  readUpTo: number;
};

/** The most events that one read covers, so that it takes milliseconds even if few of them are to be sent. */
const MAX_PASSED = 50_000;
/** Events are sent for this long after they were read. */
const FRESH_FOR_MS = 1000;

/**
 * Reads the next batch of events.
 * @param afterId the id of the last event that was read before.
 * @param newestId the id of the newest event, greater than `afterId`.
 * @param read reads the events to be sent, after `afterId` and up to `upToId`, at most `limit`.
 */
export async function readEventBatch(
  { afterId, newestId, limit }: { afterId: number; newestId: number; limit: number },
  read: (range: { upToId: number; limit: number }) => Promise<readonly StoredEvent[]>,
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
