import { FEED_CHANGES, type FeedChange } from '../../../src/domain/discord-feed.ts';
import type { ServerView } from '../../../src/live/server-view.ts';
import {
  type FeedServer,
  finishFeedServers,
  listFeedServers,
  saveFeedServers,
} from '../../../src/queries/discord/feed-servers.ts';
import type { DiscordFeed } from '../../../src/queries/discord/feeds.ts';
import { LIMITS } from '../../embeds/discord-limits.ts';
import { COLOURS, linkButton, type MessageView, row } from '../../embeds/message-view.ts';
import { Refusal } from '../../embeds/refusal.ts';
import { linksRow } from '../../embeds/server-card.ts';
import type { SitePages } from '../../embeds/site-pages.ts';
import { escapeText, joinLines, relativeTime } from '../../embeds/text.ts';
import type { Texts } from '../../locales/en.ts';
import type { BotParts } from '../../parts.ts';
import { type ChannelMessage, toNonce } from '../channel-messages.ts';
import { type FeedDeps, postToFeed } from './feed-messages.ts';

/** The least time between two `players` messages of a server. */
const COOLDOWN_MS = 60 * 60_000;
/** After a `players` message the count must drop to this share of the threshold before the next one. */
const FALLEN_SHARE = 0.75;

const LOOKS: Record<FeedChange, { emoji: string; colour: number }> = {
  down: { emoji: '🔴', colour: COLOURS.danger },
  up: { emoji: '🟢', colour: COLOURS.online },
  players: { emoji: '👥', colour: COLOURS.neutral },
};

/**
 * Posts one pending message of a server feed; if none is pending, saves the changes to be posted next.
 * @returns whether there may be more to do.
 */
export async function stepServerFeed(deps: FeedDeps, feed: DiscordFeed): Promise<boolean> {
  const { db, servers } = deps;
  const now = deps.now();
  const views = servers.listViews();
  // A server that has not been checked lately is neither up nor down.
  const unchecked = new Set(views.filter(({ uncheckedSince }) => uncheckedSince).map(({ id }) => id));
  const states = (await listFeedServers(db, feed.id)).filter(({ serverId }) => !unchecked.has(serverId));
  const due = states.filter((state) => isDue(state, feed, now));
  const change = FEED_CHANGES.find((kind) => due.some(({ pending }) => pending === kind));
  if (change) {
    await post(deps, feed, change, due);
    return true;
  }
  const online = new Set(views.filter(({ isOnline }) => isOnline).map(({ id }) => id));
  const serverIds = states
    .filter(({ serverId, pending }) => pending === 'down' && online.has(serverId))
    .map(({ serverId }) => serverId);
  if (serverIds.length > 0) {
    await finishFeedServers(db, feed.id, { change: 'down', serverIds, isOver: true });
    return true;
  }
  const byId = new Map(states.map((state) => [state.serverId, state]));
  const { playersAtLeast } = feed;
  const changes = views
    .filter(({ id }) => !unchecked.has(id) && (feed.serverId === null || feed.serverId === id))
    .flatMap((server) => compareServer(byId.get(server.id), server, { playersAtLeast, now }) ?? []);
  if (changes.length === 0) return false;
  await saveFeedServers(db, feed, changes);
  return true;
}

/**
 * Whether a pending change is to be posted now: a server counts as down only once it has been for `afterMinutes`.
 * A change that is dated later was recorded while a clock was ahead.
 */
function isDue({ pending, pendingSince }: FeedServer, { afterMinutes }: DiscordFeed, now: Date): boolean {
  const sinceMs = now.getTime() - (pendingSince?.getTime() ?? 0);
  return pending !== null && (pending !== 'down' || sinceMs < 0 || sinceMs >= afterMinutes * 60_000);
}

/** Posts one kind of change in one message, for all servers for which it is pending. */
async function post(
  deps: FeedDeps,
  feed: DiscordFeed,
  change: FeedChange,
  states: readonly FeedServer[],
): Promise<void> {
  const { db, servers, pages } = deps;
  const changedServers = states.filter(({ pending }) => pending === change);
  // Leaves out servers that have been hidden or removed meanwhile, and servers whose change is no longer true.
  const views = changedServers.flatMap(({ serverId }) => {
    const status = servers.findById(serverId);
    const view = status && servers.toView(status);
    return view && stillHolds(change, view, feed) ? [view] : [];
  });
  const { texts } = deps.localizeGuild(feed.locale);
  const places = changedServers.map(({ serverId, pendingSince }) => `${serverId}@${pendingSince?.getTime()}`);
  const [first, ...others] = views;
  if (first) {
    const message = feedServers(change, [first, ...others], { texts, pages, roleId: feed.roleId });
    await postToFeed(deps, feed, { message, nonce: toNonce(feed.id, change, ...places) });
  }
  await finishFeedServers(db, feed.id, { change, serverIds: changedServers.map(({ serverId }) => serverId) });
}

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
    const nothing = { calledAt: null, pending: null, pendingSince: null, downAt: [] };
    return { serverId, isOnline, hasPlayers: isReached, ...nothing };
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
function stillHolds(
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

type Options = { texts: Texts; pages: SitePages; roleId: string | null };

/** One kind of change of one or more servers. `players` mentions the role. */
function feedServers(
  change: FeedChange,
  servers: readonly [ServerView, ...ServerView[]],
  { texts, pages, roleId }: Options,
): ChannelMessage {
  const [first] = servers;
  const isOne = servers.length === 1;
  const lines = isOne
    ? [detailsOf(change, first, texts)]
    : servers.map((server) => `**${nameOf(server)}** · ${detailsOf(change, server, texts)}`);
  const description = joinLines(lines, { max: LIMITS.embedDescription, more: texts.server.more });
  const { emoji, colour } = LOOKS[change];
  const headline = isOne
    ? texts.feed.one[change](nameOf(first), first.playersCount)
    : texts.feed.several[change](servers.length);
  return {
    content: `${emoji} ${headline}`,
    embeds: description === '' ? [] : [{ color: colour, description }],
    components: [isOne ? linksRow(first, { texts, pages }) : row(linkButton(texts.buttons.site, pages.home))],
    roleId: change === 'players' ? roleId : null,
  };
}

/** What is posted when a server has as many players as somebody wants. */
export function playersReached(server: ServerView, options: Omit<Options, 'roleId'>): MessageView {
  const { content, embeds, components } = feedServers('players', [server], { ...options, roleId: null });
  return { ...(content !== undefined && { content }), embeds, components };
}

/** The first server of the list, as if it had just gone offline. @throws {Refusal} when there is none. */
export function exampleServer({ servers, pages, now }: BotParts, texts: Texts): ChannelMessage {
  const [status] = servers.current();
  if (!status) throw new Refusal(({ server }) => server.none);
  const server = { ...servers.toView(status), isOnline: false, seenAt: now() };
  return feedServers('down', [server], { texts, pages, roleId: null });
}

/** For a server that went offline, when it was last seen; else its current map and players. */
function detailsOf(
  change: FeedChange,
  { seenAt, map, playersCount, maxPlayers }: ServerView,
  { feed }: Texts,
): string {
  if (change === 'down') return seenAt ? feed.lastSeen(relativeTime(seenAt)) : '';
  return [escapeText(map), `${playersCount}/${maxPlayers}`].filter(Boolean).join(' · ');
}

function nameOf({ name }: ServerView): string {
  return escapeText(name, { max: 100 });
}
