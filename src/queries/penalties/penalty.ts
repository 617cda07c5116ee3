import { eq } from 'drizzle-orm';
import type { Reads } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { servers } from '../../db/schema/servers.ts';
import { statusAt } from '../../domain/penalty.ts';
import type { Server } from '../servers/servers.ts';
import type { Penalty } from './row.ts';

/** One penalty with its status at the time of the query, and what lists do not show. */
export type PenaltyDetails = {
  penalty: Penalty;
  /** Null for none, and for one that is not known here. */
  server: Server | null;
  /** The source that it was imported from. */
  source: string | null;
  /** Whether it is gone at its source. */
  isRemoved: boolean;
};

/** A penalty by its id. */
export async function findPenalty(db: Reads, id: number, now: Date): Promise<PenaltyDetails | undefined> {
  const [row] = await db
    .select({ penalty: penalties, server: servers })
    .from(penalties)
    .leftJoin(servers, eq(servers.id, penalties.serverId))
    .where(eq(penalties.id, id));
  if (!row) return undefined;
  const { source, goneAt, ...penalty } = row.penalty;
  const status = statusAt(penalty.status, penalty.endsAt, now);
  return { penalty: { ...penalty, status }, server: row.server, source, isRemoved: goneAt !== null };
}
