import { FEED_CHANGES, type FeedChange } from '../../../src/domain/discord-feed.ts';
import type { ServerView } from '../../../src/live/server-view.ts';
import {
  dropFeedServers,
  type FeedServer,
  finishFeedServers,
  listFeedServers,
  recordDown,
  saveFeedServers,
} from '../../../src/queries/discord/feed-servers.ts';
import type { DiscordFeed } from '../../../src/queries/discord/feeds.ts';
import type { BotContext } from '../../context.ts';
import { LIMITS } from '../../embeds/discord-limits.ts';
import { COLOURS, linkButton, type MessageView, row } from '../../embeds/message-view.ts';
import { Refusal } from '../../embeds/refusal.ts';
import { linksRow } from '../../embeds/server-card.ts';
import type { SitePages } from '../../embeds/site-pages.ts';
import { escapeText, joinLines, relativeTime } from '../../embeds/text.ts';
import { hasStatus } from '../../gateway/rest.ts';
import type { Texts } from '../../locales/en.ts';
import { type ChannelMessage, toNonce } from '../channel-messages.ts';
import { editInFeed, type FeedDeps, findRole, postToFeed } from './feed-messages.ts';

/** The least time between two `players` messages of a server. */
const COOLDOWN_MS = 60 * 60_000;
/** Servers that change within this time after a message are added to it. */
const TOGETHER_MS = 60_000;
/** The most `down` posts about a server within {@link FLAPPING_MS}; the next needs a server that was up for as long. */
const MAX_DOWNS = 3;
const FLAPPING_MS = 60 * 60_000;
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
  const views = new Map(servers.listViews().map((view) => [view.id, view]));
  // A server that has not been checked lately is neither up nor down.
  const isUnchecked = (id: number) => views.get(id)?.uncheckedSince !== undefined;
  const states = (await listFeedServers(db, feed.id)).filter(({ serverId }) => !isUnchecked(serverId));
  for (const change of FEED_CHANGES) {
    const pending = states.filter((state) => state.pending === change);
    const isTrue = ({ serverId }: FeedServer) => stillHolds(change, views.get(serverId), feed);
    const over = pending.filter((state) => !isTrue(state));
    const due = pending.filter((state) => isTrue(state) && isDue(state, feed, now));
    if (over.length > 0) await dropFeedServers(db, feed.id, { change, serverIds: idsOf(over) });
    if (due.length > 0) await post(deps, feed, change, due);
    if (over.length + due.length > 0) return true;
  }
  const { playersAtLeast } = feed;
  const byId = new Map(states.map((state) => [state.serverId, state]));
  const changes = [...views.values()]
    .filter(({ id }) => !isUnchecked(id) && (feed.serverId === null || feed.serverId === id))
    .flatMap((server) => compareServer(byId.get(server.id), server, { playersAtLeast, now }) ?? []);
  if (changes.length === 0) return false;
  await saveFeedServers(db, feed, changes);
  return true;
}

/**
 * Whether a pending change is due: a server counts as down after it has been offline for `afterMinutes`. A change
 * with a date in the future was recorded while a clock was ahead.
 */
function isDue({ pending, pendingSince }: FeedServer, { afterMinutes }: DiscordFeed, now: Date): boolean {
  const sinceMs = now.getTime() - (pendingSince?.getTime() ?? 0);
  return pending !== 'down' || sinceMs < 0 || sinceMs >= afterMinutes * 60_000;
}

/** Posts one kind of change in one message, for all servers for which it is due. */
async function post(
  deps: FeedDeps,
  feed: DiscordFeed,
  change: FeedChange,
  states: readonly FeedServer[],
): Promise<void> {
  const { db, now } = deps;
  const serverIds = idsOf(states);
  const rememberDown = async () => {
    if (change === 'down') await recordDown(db, feed.id, serverIds, { now: now(), keptMs: FLAPPING_MS });
  };
  try {
    const isAdded = await addToRecent(deps, feed, change, states);
    if (!isAdded) await postNew(deps, feed, change, states);
  } catch (error) {
    // Without a response, the message may be there.
    if (!hasStatus(error)) await rememberDown();
    throw error;
  }
  await rememberDown();
  await finishFeedServers(db, feed.id, { change, serverIds });
}

function idsOf(states: readonly FeedServer[]): number[] {
  return states.map(({ serverId }) => serverId);
}

async function postNew(
  deps: FeedDeps,
  feed: DiscordFeed,
  change: FeedChange,
  states: readonly FeedServer[],
): Promise<void> {
  const { now, recentChanges } = deps;
  const places = states.map(({ serverId, pendingSince }) => `${serverId}@${pendingSince?.getTime()}`);
  const roleId = change === 'players' ? await findRole(deps, feed) : null;
  const message = feedServers(change, toShown(deps, states), { ...optionsOf(deps, feed), roleId });
  const messageId = await postToFeed(deps, feed, { message, nonce: toNonce(feed.id, change, ...places) });
  if (messageId !== undefined) recentChanges.set(recentKeyOf(feed, change), { messageId, states, at: now() });
}

/** Adds servers to the message of the last minute about the same change. @returns whether there is one. */
async function addToRecent(
  deps: FeedDeps,
  feed: DiscordFeed,
  change: FeedChange,
  states: readonly FeedServer[],
): Promise<boolean> {
  const { now, recentChanges } = deps;
  const recent = recentChanges.get(recentKeyOf(feed, change));
  const sinceMs = now().getTime() - (recent?.at.getTime() ?? 0);
  // An edit notifies nobody.
  if (!recent || change === 'players' || sinceMs < 0 || sinceMs >= TOGETHER_MS) return false;
  const isListed = new Set(idsOf(states));
  const all = [...recent.states.filter(({ serverId }) => !isListed.has(serverId)), ...states];
  const view = feedServers(change, toShown(deps, all), { ...optionsOf(deps, feed), roleId: null });
  if (!(await editInFeed(deps, feed, { messageId: recent.messageId, view }))) return false;
  recentChanges.set(recentKeyOf(feed, change), { ...recent, states: all });
  return true;
}

function recentKeyOf({ id }: DiscordFeed, change: FeedChange): string {
  return `${id} ${change}`;
}

function optionsOf({ localizeGuild, pages }: FeedDeps, { locale }: DiscordFeed) {
  return { texts: localizeGuild(locale).texts, pages };
}

function findView({ servers }: BotContext, serverId: number): ServerView | undefined {
  const status = servers.findById(serverId);
  return status && servers.toView(status);
}

function toShown(deps: FeedDeps, states: readonly FeedServer[]): ShownServer[] {
  return states.flatMap(({ serverId, downAt }) => {
    const view = findView(deps, serverId);
    const isFlapping = countRecent(downAt, deps.now()) >= MAX_DOWNS - 1;
    return view ? [{ ...view, isFlapping }] : [];
  });
}

function countRecent(times: readonly Date[], now: Date): number {
  return times.filter((at) => now.getTime() - at.getTime() < FLAPPING_MS).length;
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
  if (isOnline !== previous.isOnline) return compareOnline(previous, isOnline, now);
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

/** A server that has gone offline or come back. One that keeps going offline is silent until it was up for long. */
function compareOnline(previous: FeedServer, isOnline: boolean, now: Date): FeedServer {
  const { pendingSince, downAt } = previous;
  const lastedMs = now.getTime() - (pendingSince?.getTime() ?? 0);
  const wasUpForLong = !isOnline && lastedMs >= FLAPPING_MS;
  const isSilent = downAt.length >= MAX_DOWNS && !wasUpForLong;
  // The server was offline when the feed began; that outage was not posted.
  const isUnsaid = isOnline && pendingSince === null;
  const pending = isSilent || isUnsaid ? null : isOnline ? 'up' : 'down';
  return { ...previous, isOnline, pending, pendingSince: now, downAt: wasUpForLong ? [] : downAt };
}

/** Whether a pending change is still true of a server; it may have waited for Discord. An unlisted one has none. */
function stillHolds(
  change: FeedChange,
  view: ServerView | undefined,
  { playersAtLeast }: { playersAtLeast: number | null },
): boolean {
  if (!view) return false;
  const { isOnline, playersCount } = view;
  if (change === 'players') return isOnline && isNumberReached(playersCount, playersAtLeast);
  return isOnline === (change === 'up');
}

function isNumberReached(playersCount: number, playersAtLeast: number | null): boolean {
  return playersAtLeast !== null && playersCount >= playersAtLeast;
}

type Options = { texts: Texts; pages: SitePages; roleId: string | null };
/** `isFlapping`: it keeps going offline. */
type ShownServer = ServerView & { isFlapping?: boolean };

/** One kind of change of one or more servers. `players` mentions the role. */
function feedServers(
  change: FeedChange,
  servers: readonly ShownServer[],
  { texts, pages, roleId }: Options,
): ChannelMessage {
  const [first, ...others] = servers;
  const one = others.length === 0 ? first : undefined;
  const lines = one
    ? [detailsOf(change, one, texts)]
    : servers.map((server) => `**${nameOf(server)}** · ${detailsOf(change, server, texts)}`);
  const description = joinLines(lines, { max: LIMITS.embedDescription, more: texts.server.more });
  const { emoji, colour } = LOOKS[change];
  const headline = one
    ? texts.feed.one[one.isFlapping && change === 'down' ? 'flapping' : change](nameOf(one), one.playersCount)
    : texts.feed.several[change](servers.length);
  return {
    content: `${emoji} ${headline}`,
    embeds: description === '' ? [] : [{ color: colour, description }],
    components: [one ? linksRow(one, { texts, pages }) : row(linkButton(texts.buttons.site, pages.home))],
    roleId,
  };
}

/** What is posted when a server has as many players as somebody wants. */
export function playersReached(server: ServerView, options: Omit<Options, 'roleId'>): MessageView {
  const { content, embeds, components } = feedServers('players', [server], { ...options, roleId: null });
  return { ...(content !== undefined && { content }), embeds, components };
}

/**
 * The first server of the list, as if it had just gone offline; for a feed with a role, as if it were full enough.
 * @throws {Refusal} when there is none.
 */
export function exampleServer(
  { servers, pages, now }: BotContext,
  texts: Texts,
  roleId: string | null,
): ChannelMessage {
  const [status] = servers.current();
  if (!status) throw new Refusal(({ server }) => server.none);
  const server = { ...servers.toView(status), isOnline: false, seenAt: now() };
  return feedServers(roleId ? 'players' : 'down', [server], { texts, pages, roleId });
}

/** For a server that went offline, when it was last seen; else its current map and players. */
function detailsOf(
  change: FeedChange,
  { seenAt, map, playersCount, maxPlayers, isFlapping }: ShownServer,
  { feed }: Texts,
): string {
  if (change === 'down' && isFlapping) return feed.flapping;
  if (change === 'down') return seenAt ? feed.lastSeen(relativeTime(seenAt)) : '';
  return [escapeText(map), `${playersCount}/${maxPlayers}`].filter(Boolean).join(' · ');
}

function nameOf({ name }: ServerView): string {
  return escapeText(name, { max: 100 });
}
