import { and, desc, eq, inArray, min, type SQL } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { penalties, penaltyEvents } from '../../db/schema/penalties.ts';
import { servers } from '../../db/schema/servers.ts';
import { type PenaltyEvent, toPenaltyEvent } from '../events.ts';
import { countsByType, type PenaltyCounts, readCounts } from '../penalties/filter.ts';
import { shownNameOf } from '../servers/servers.ts';
import { waitingCondition } from './feed-posts.ts';
import type { DiscordFeed } from './feeds.ts';

/** New penalties that a feed has not posted yet. */
type WaitingPenalties = {
  amount: number;
  counts: PenaltyCounts;
  /** Of the oldest event; undefined if there is none. */
  first: { id: number; occurredAt: Date } | undefined;
};

/** An event, with the current data of its penalty; `isDeleted` also if a later event deleted it. */
export type FeedEvent = PenaltyEvent & {
  serverName: string | undefined;
  /** Since when the penalty is gone at its source. */
  goneAt: Date | null;
};

/** Counts the new penalties after a feed's cursor, up to and including an event. */
export async function countWaitingPenalties(
  db: Db,
  feed: DiscordFeed,
  upTo: number,
): Promise<WaitingPenalties> {
  const { id, penaltyType, occurredAt } = penaltyEvents;
  const [row] = await db
    .select({ counts: countsByType(penaltyType), firstId: min(id), firstAt: min(occurredAt) })
    .from(penaltyEvents)
    .where(newCondition(feed, upTo));
  const counts = readCounts(row?.counts);
  return {
    amount: Object.values(counts).reduce((sum, count) => sum + count, 0),
    counts,
    first: row?.firstId && row.firstAt ? { id: row.firstId, occurredAt: row.firstAt } : undefined,
  };
}

/** The newest of the penalties that {@link countWaitingPenalties} counts. */
export async function findWaitingPenalty(
  db: Db,
  feed: DiscordFeed,
  upTo: number,
): Promise<FeedEvent | undefined> {
  return findEvent(db, newCondition(feed, upTo));
}

/** An event of a penalty, unless it has been pruned. */
export async function findPenaltyEvent(db: Db, id: number): Promise<FeedEvent | undefined> {
  return findEvent(db, eq(penaltyEvents.id, id));
}

async function findEvent(db: Db, condition: SQL | undefined): Promise<FeedEvent | undefined> {
  const [row] = await db
    .select({
      event: penaltyEvents,
      server: { name: servers.name, slug: servers.slug },
      penalty: { id: penalties.id, goneAt: penalties.goneAt },
    })
    .from(penaltyEvents)
    .leftJoin(servers, eq(servers.id, penaltyEvents.serverId))
    .leftJoin(penalties, eq(penalties.id, penaltyEvents.penaltyId))
    .where(condition)
    .orderBy(desc(penaltyEvents.id))
    .limit(1);
  if (!row) return undefined;
  const serverName = row.server ? shownNameOf(row.server) : undefined;
  // Read from the penalty, not the event: an event after the removal, such as an expiry, does not bring the penalty
  // back.
  const isDeleted = row.penalty === null;
  return { ...toPenaltyEvent(row.event), serverName, isDeleted, goneAt: row.penalty?.goneAt ?? null };
}

function newCondition(feed: DiscordFeed, upTo: number): SQL | undefined {
  const { penaltyTypes, serverId } = feed;
  return and(
    waitingCondition(feed, upTo),
    eq(penaltyEvents.type, 'penalty.created'),
    eq(penaltyEvents.isSilent, false),
    penaltyTypes === null ? undefined : inArray(penaltyEvents.penaltyType, penaltyTypes),
    serverId === null ? undefined : eq(penaltyEvents.serverId, serverId),
  );
}
