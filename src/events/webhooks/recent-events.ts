import type { PenaltyEvent } from '../../queries/penalties/events.ts';
import type { EventReader } from '../event-reader.ts';
import type { WebhookQueueDeps } from './webhook-queue.ts';

type Deps = {
  reader: Pick<EventReader, 'newestId' | 'subscribe'>;
  /** Reads from the database. */
  listEvents: WebhookQueueDeps['listEvents'];
};

/** Events that were read together, and the id before the first of them. */
type Reading = { afterId: number; events: readonly PenaltyEvent[]; readAtMs: number };

/** How long events stay in memory; not longer, since they may name somebody who was erased meanwhile. */
const KEPT_MS = 2000;
/** The most events in memory; after a large import, the others are read from the database. */
const MAX_EVENTS = 1000;

/** Lists events for webhooks: the newest from memory, shared by all webhooks, older ones from the database. */
export function createRecentEvents({ reader, listEvents }: Deps): WebhookQueueDeps['listEvents'] {
  let readings: Reading[] = [];
  let lastId = reader.newestId();
  reader.subscribe((events) => {
    readings.push({ afterId: lastId, events, readAtMs: performance.now() });
    lastId = events.at(-1)?.id ?? lastId;
    while (countEvents(readings) > MAX_EVENTS) readings.shift();
  });

  return async (afterId, range) => {
    const sinceMs = performance.now() - KEPT_MS;
    readings = readings.filter(({ readAtMs }) => readAtMs >= sinceMs);
    const [oldest] = readings;
    if (!oldest || afterId < oldest.afterId) return listEvents(afterId, range);
    const { upToId, types, limit } = range;
    return readings
      .flatMap(({ events }) => events)
      .filter(({ id, type, isSilent }) => {
        return id > afterId && id <= upToId && !isSilent && (types === null || types.includes(type));
      })
      .slice(0, limit);
  };
}

function countEvents(readings: readonly Reading[]): number {
  return readings.reduce((sum, { events }) => sum + events.length, 0);
}
