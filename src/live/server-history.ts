import type { Db } from '../db/client.ts';
import {
  type HistoryPoint,
  listPlayedMaps,
  listServerHistory,
  type PlayedMaps,
} from '../queries/servers/samples.ts';
import { createStaleCache } from '../runtime/stale-cache.ts';

const FRESH_MS = 30_000;
const CACHE_LIMITS = { staleMs: 15 * 60_000, maxEntries: 1000 };

/** How far back histories go, in hours: only these, so that each is read once for all who ask. */
export const HISTORY_HOURS = [24, 48, 168, 720, 8760] as const;
export type HistoryHours = (typeof HISTORY_HOURS)[number];

/** Points oldest first, `stepSeconds` apart where the server was polled; read at `readAt`. */
export type ServerHistory = { points: HistoryPoint[]; stepSeconds: number; readAt: Date };

/** Player counts of a server over the last hours. */
export type ReadHistory = (serverId: number, hours: HistoryHours) => Promise<ServerHistory>;

/** Reads histories for the API and the bot's charts, each at most twice a minute; longer ones in coarser steps. */
export function createHistoryReader(
  db: Db,
  { now, clockMs, onLookup }: { now: () => Date; clockMs: () => number; onLookup?: (isHit: boolean) => void },
): ReadHistory {
  const cache = createStaleCache<ServerHistory>({ ...CACHE_LIMITS, freshMs: FRESH_MS, clockMs, onLookup });
  return (serverId, hours) =>
    cache.get(`${serverId} ${hours}`, async () => {
      const readAt = now();
      const stepSeconds = hours <= 48 ? 300 : hours <= 720 ? 3600 : 6 * 3600;
      const since = new Date(readAt.getTime() - hours * 3_600_000);
      const points = await listServerHistory(db, serverId, { since, until: readAt, stepSeconds });
      return { points, stepSeconds, readAt };
    });
}

const MAPS_FRESH_MS = 60_000;
/** As many as a page shows. */
const MAX_MAPS = 10;

/** The maps that a server played in the last `days` days. */
export type ReadMaps = (serverId: number, days: number) => Promise<PlayedMaps>;

/** Reads the maps of a server at most once a minute. */
export function createMapReader(
  db: Db,
  { now, clockMs }: { now: () => Date; clockMs: () => number },
): ReadMaps {
  const cache = createStaleCache<PlayedMaps>({ ...CACHE_LIMITS, freshMs: MAPS_FRESH_MS, clockMs });
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
