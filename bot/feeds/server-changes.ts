import type { ServerView } from '../../src/live/server-view.ts';
import type { FeedServer } from '../../src/queries/discord-feeds/server-changes.ts';

/** Players are called for at most this often, for each server. */
const COOLDOWN_MS = 60 * 60_000;
/** Players must have fallen to this share of the number before reaching it again is news. */
const FALLEN_SHARE = 0.75;

/**
 * What a feed knows of a server after a poll, with the change to be posted, if there is one. A server that it meets for the
 * first time is as it is: that is no change.
 * @param playersAtLeast so many players are worth a message; null: none are.
 * @returns undefined when it knows all of it already.
 */
export function compareServer(
  known: FeedServer | undefined,
  { id: serverId, isOnline, playersCount, updatedAt }: ServerView,
  { playersAtLeast, now }: { playersAtLeast: number | null; now: Date },
): FeedServer | undefined {
  if (updatedAt === undefined) return undefined;
  const isReached = playersAtLeast !== null && playersCount >= playersAtLeast;
  if (!known) {
    return { serverId, isOnline, hasPlayers: isReached, calledAt: null, pending: null, pendingSince: null };
  }
  if (isOnline !== known.isOnline) {
    return { ...known, isOnline, pending: isOnline ? 'up' : 'down', pendingSince: now };
  }
  if (!isOnline || playersAtLeast === null) return undefined;
  if (known.hasPlayers) {
    const hasFallen = playersCount <= Math.floor(playersAtLeast * FALLEN_SHARE);
    return hasFallen ? { ...known, hasPlayers: false } : undefined;
  }
  const isCooling = known.calledAt !== null && now.getTime() - known.calledAt.getTime() < COOLDOWN_MS;
  if (!isReached || isCooling) return undefined;
  return { ...known, hasPlayers: true, calledAt: now, pending: 'players', pendingSince: now };
}
