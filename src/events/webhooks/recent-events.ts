import type { PenaltyEvent } from '../../queries/penalties/events.ts';
import type { EventReader } from '../event-reader.ts';
import type { DeliverDeps } from './deliver.ts';

type Deps = {
  reader: Pick<EventReader, 'newestId' | 'subscribe'>;
  /** Reads from the database. */
  listEvents: DeliverDeps['listEvents'];
};

/** Events that were read together, and the one before them. */
type Reading = { afterId: number; events: readonly PenaltyEvent[]; readAtMs: number };

/** Who was erased is told of no longer than this. */
const KEPT_MS = 2000;
/** Of an import that is not silent, the rest is read from the database. */
const MOST_EVENTS = 1000;

/** Lists events for webhooks: what the reader has just found is shared by all of them, the rest is in the database. */
export function createRecentEvents({ reader, listEvents }: Deps): DeliverDeps['listEvents'] {
  let readings: Reading[] = [];
  let lastId = reader.newestId();
  reader.subscribe((events) => {
    readings.push({ afterId: lastId, events, readAtMs: performance.now() });
    lastId = events.at(-1)?.id ?? lastId;
    while (countEvents(readings) > MOST_EVENTS) readings.shift();
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
