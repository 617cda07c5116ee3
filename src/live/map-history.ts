import type { Db } from '../db/client.ts';
import { listPlayedMaps, type PlayedMaps } from '../queries/servers/samples.ts';
import { createStaleCache } from './stale-cache.ts';

const FRESH_MS = 60_000;
const STALE_MS = 15 * 60_000;

/** As many as a page shows. */
const MAX_MAPS = 10;

/** The maps that a server played in the last `days` days. */
export type ReadMaps = (serverId: number, days: number) => Promise<PlayedMaps>;

/** Reads the maps of a server at most once a minute. */
export function createMapReader(
  db: Db,
  { now, clockMs }: { now: () => Date; clockMs: () => number },
): ReadMaps {
  const cache = createStaleCache<PlayedMaps>({
    freshMs: FRESH_MS,
    staleMs: STALE_MS,
    maxEntries: 1000,
    clockMs,
  });
  return (serverId, days) =>
    cache.get(`${serverId} ${days}`, () => {
      const until = now();
      return listPlayedMaps(db, serverId, {
        since: new Date(until.getTime() - days * 86_400_000),
        until,
        limit: MAX_MAPS,
      });
    });
}
