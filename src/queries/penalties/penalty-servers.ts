import { and, asc, eq, ne, sql } from 'drizzle-orm';
import type { Reads } from '../../db/client.ts';
import { penaltyTallies, TALLY_PERIODS, TALLY_SCOPES } from '../../db/schema/penalties.ts';
import { servers } from '../../db/schema/servers.ts';
import { shownNameOf } from '../servers/servers.ts';

/** A server that penalties name; without name for one that is no longer here, without slug for that and a hidden one. */
export type PenaltyServer = { id: number; name: string | null; slug: string | null; penalties: number };

/** Every server that a penalty names, by id, with the number of its penalties. */
export async function listPenaltyServers(db: Reads): Promise<PenaltyServer[]> {
  const { serverId, counts, scope, period } = penaltyTallies;
  const total = sql<number>`(select sum(count)::int from unnest(${counts}) as count)`;
  const rows = await db
    .select({ id: serverId, server: servers, penalties: total })
    .from(penaltyTallies)
    .leftJoin(servers, eq(servers.id, serverId))
    .where(
      and(eq(scope, TALLY_SCOPES.server), eq(period, TALLY_PERIODS.ever), ne(serverId, 0), sql`${total} > 0`),
    )
    .orderBy(asc(serverId));
  return rows.map(({ id, server, penalties }) => ({
    id,
    name: server && shownNameOf(server),
    slug: server && !server.isHidden ? server.slug : null,
    penalties,
  }));
}
