import type { Db } from '../db/client.ts';
import { type HistoryPoint, listServerHistory } from '../queries/servers/samples.ts';
import { createStaleCache } from './stale-cache.ts';

const FRESH_MS = 30_000;
const STALE_MS = 15 * 60_000;

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
  const cache = createStaleCache<ServerHistory>({
    freshMs: FRESH_MS,
    staleMs: STALE_MS,
    maxEntries: 1000,
    clockMs,
    onLookup,
  });
  return (serverId, hours) =>
    cache.get(`${serverId} ${hours}`, async () => {
      const readAt = now();
      const stepSeconds = hours <= 48 ? 300 : hours <= 720 ? 3600 : 6 * 3600;
      const since = new Date(readAt.getTime() - hours * 3_600_000);
      const points = await listServerHistory(db, serverId, {
        since,
        until: readAt,
        stepSeconds,
      });
      return { points, stepSeconds, readAt };
    });
}
