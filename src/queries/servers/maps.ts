import { and, desc, eq, gte, lt, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { serverMapPeriods } from '../../db/schema/servers.ts';

/** A map that a server played. */
export type PlayedMap = {
  map: string;
  seconds: number;
  /** How many times the server changed to it. */
  times: number;
};

/** The maps that were played longest, longest first, and how many others there were. */
export type PlayedMaps = { maps: PlayedMap[]; others: number };

/** The maps of a server in a period; time outside of the period does not count. */
export async function listPlayedMaps(
  db: Db,
  serverId: number,
  { since, until, limit }: { since: Date; until: Date; limit: number },
): Promise<PlayedMaps> {
  const { map, startedAt, endedAt } = serverMapPeriods;
  const bounds = [since.toISOString(), until.toISOString()] as const;
  const seconds = sql<number>`round(extract(epoch from sum(
    least(${endedAt}, ${bounds[1]}::timestamptz) - greatest(${startedAt}, ${bounds[0]}::timestamptz)
  )))`.mapWith(Number);
  const rows = await db
    .select({
      map,
      seconds,
      times: sql<number>`count(*)`.mapWith(Number),
      all: sql<number>`count(*) over ()`.mapWith(Number),
    })
    .from(serverMapPeriods)
    .where(and(eq(serverMapPeriods.serverId, serverId), gte(endedAt, since), lt(startedAt, until)))
    .groupBy(map)
    .orderBy(desc(seconds), map)
    .limit(limit);
  const maps = rows.map(({ all: _, ...played }) => played);
  return { maps, others: (rows[0]?.all ?? 0) - maps.length };
}
