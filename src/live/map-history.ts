import type { Db } from '../db/client.ts';
import { listPlayedMaps, type PlayedMap } from '../queries/servers/maps.ts';
import { createStaleCache } from './stale-cache.ts';

const FRESH_MS = 60_000;
const STALE_MS = 15 * 60_000;

/** The maps that a server played in the last `days` days, the longest played first. */
export type ReadMaps = (serverId: number, days: number) => Promise<PlayedMap[]>;

/** Reads the maps of a server at most once a minute. */
export function createMapReader(
  db: Db,
  { now, clockMs }: { now: () => Date; clockMs: () => number },
): ReadMaps {
  const cache = createStaleCache<PlayedMap[]>({
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
      });
    });
}
