import type { FeedChange } from '../../src/domain/discord-feed.ts';
import type { ServerView } from '../../src/live/server-view.ts';
import type { FeedServer } from '../../src/queries/discord-feeds/feed-servers.ts';

/** The least time between two `players` messages of a server. */
const COOLDOWN_MS = 60 * 60_000;
/** After a `players` message the count must drop to this share of the threshold before the next one. */
const FALLEN_SHARE = 0.75;

/**
 * Compares a server with the state that a feed has stored for it. The first poll of a server is not a change.
 * @param playersAtLeast the number of players that causes a message; null: no such messages.
 * @returns the new state, with the change to be posted if there is one; undefined when the state has not changed.
 */
export function compareServer(
  previous: FeedServer | undefined,
  { id: serverId, isOnline, playersCount, updatedAt }: ServerView,
  { playersAtLeast, now }: { playersAtLeast: number | null; now: Date },
): FeedServer | undefined {
  if (updatedAt === undefined) return undefined;
  const isReached = isNumberReached(playersCount, playersAtLeast);
  if (!previous) {
    return { serverId, isOnline, hasPlayers: isReached, calledAt: null, pending: null, pendingSince: null };
  }
  if (isOnline !== previous.isOnline) {
    return { ...previous, isOnline, pending: isOnline ? 'up' : 'down', pendingSince: now };
  }
  if (!isOnline || playersAtLeast === null) return undefined;
  if (previous.hasPlayers) {
    const hasFallen = playersCount <= Math.floor(playersAtLeast * FALLEN_SHARE);
    return hasFallen ? { ...previous, hasPlayers: false } : undefined;
  }
  // Negative if the clock was ahead at the last message.
  const sinceCallMs = previous.calledAt === null ? COOLDOWN_MS : now.getTime() - previous.calledAt.getTime();
  const isCooling = sinceCallMs >= 0 && sinceCallMs < COOLDOWN_MS;
  if (!isReached || isCooling) return undefined;
  return { ...previous, hasPlayers: true, calledAt: now, pending: 'players', pendingSince: now };
}

/** Whether a pending change is still true of a server; it may have waited for Discord. */
export function stillHolds(
  change: FeedChange,
  { isOnline, playersCount }: ServerView,
  { playersAtLeast }: { playersAtLeast: number | null },
): boolean {
  if (change === 'players') return isOnline && isNumberReached(playersCount, playersAtLeast);
  return isOnline === (change === 'up');
}

function isNumberReached(playersCount: number, playersAtLeast: number | null): boolean {
  return playersAtLeast !== null && playersCount >= playersAtLeast;
}
