import type { Database } from '../db/database.ts';
import { type HistoryPoint, listServerHistory } from '../queries/servers/samples.ts';
import { createStaleCache } from './stale-cache.ts';

const FRESH_MS = 30_000;
const STALE_MS = 15 * 60_000;
/** Some 30 MB: a thousand servers' last day. Anybody may ask for any number of hours, each a key of its own. */
const MAX_POINTS = 300_000;

/** Points oldest first, `stepSeconds` apart where the server was polled; read at `readAt`. */
export type ServerHistory = { points: HistoryPoint[]; stepSeconds: number; readAt: Date };

/** Player counts of a server over the last hours. */
export type ReadHistory = (serverId: number, hours: number) => Promise<ServerHistory>;

/** Reads histories for the API and the bot's charts, each at most twice a minute; longer ones in coarser steps. */
export function createHistoryReader(
  { replica }: Pick<Database, 'replica'>,
  { now, clockMs, onLookup }: { now: () => Date; clockMs: () => number; onLookup?: (isHit: boolean) => void },
): ReadHistory {
  const cache = createStaleCache<ServerHistory>({
    freshMs: FRESH_MS,
    staleMs: STALE_MS,
    maxEntries: 1000,
    maxSize: MAX_POINTS,
    sizeOf: ({ points }) => points.length,
    clockMs,
    onLookup,
  });
  return (serverId, hours) =>
    cache.get(`${serverId} ${hours}`, async () => {
      const readAt = now();
      const stepSeconds = hours <= 48 ? 300 : hours <= 24 * 60 ? 3600 : 6 * 3600;
      const since = new Date(readAt.getTime() - hours * 3_600_000);
      const points = await listServerHistory(replica, serverId, {
        since,
        until: readAt,
        stepSeconds,
      });
      return { points, stepSeconds, readAt };
    });
}
