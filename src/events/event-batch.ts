import type { PenaltyEvent } from '../queries/penalties/events.ts';

/** Events as the database had them at one moment, oldest first. */
export type EventBatch = {
  events: readonly PenaltyEvent[];
  /**
   * Whether it is too late to send one of them: it has to be read again, so that people who were erased meanwhile are left
   * out. Never the first, so that a slow database delays events and stops none.
   */
  isStale: (event: PenaltyEvent) => boolean;
};

/** How many events one read passes at most, so that it takes milliseconds however few of them are to be sent. */
export const MAX_PASSED = 50_000;
/** Events are sent for this long after they were read. */
const FRESH_FOR_MS = 1000;

/** Reads a batch of events. */
export async function readEventBatch(read: () => Promise<readonly PenaltyEvent[]>): Promise<EventBatch> {
  const readAtMs = performance.now();
  const events = await read();
  return {
    events,
    isStale: (event) => event !== events[0] && performance.now() - readAtMs > FRESH_FOR_MS,
  };
}
