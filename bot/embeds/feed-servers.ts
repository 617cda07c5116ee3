import type { FeedChange } from '../../src/domain/discord-feed.ts';
import type { ServerView } from '../../src/live/server-view.ts';
import { LIMITS } from '../discord-limits.ts';
import type { Texts } from '../locales/en.ts';
import type { SitePages } from '../site-pages.ts';
import { escapeText, joinLines, relativeTime } from '../text.ts';
import { COLOURS, linkButton, type MessageView, row } from './message.ts';
import { linksRow } from './server-card.ts';

const LOOKS: Record<FeedChange, { emoji: string; colour: number }> = {
  down: { emoji: '🔴', colour: COLOURS.danger },
  up: { emoji: '🟢', colour: COLOURS.online },
  players: { emoji: '👥', colour: COLOURS.neutral },
};

type Options = { texts: Texts; pages: SitePages; roleId: string | null };

/** One kind of change of one or more servers. `players` mentions the role. */
export function feedServers(
  change: FeedChange,
  servers: readonly [ServerView, ...ServerView[]],
  { texts, pages, roleId }: Options,
): MessageView & { roleId: string | null } {
  const [first] = servers;
  const isOne = servers.length === 1;
  const lines = isOne
    ? [detailsOf(change, first, texts)]
    : servers.map((server) => `**${nameOf(server)}** · ${detailsOf(change, server, texts)}`);
  const description = joinLines(lines, { max: LIMITS.embedDescription, more: texts.server.more });
  const { emoji, colour } = LOOKS[change];
  const isCall = change === 'players';
  const headline = isOne
    ? headlineOfOne(change, first, texts)
    : headlineOfMany(change, servers.length, texts);
  return {
    content: `${emoji} ${headline}`,
    embeds: description === '' ? [] : [{ color: colour, description }],
    components: [isOne ? linksRow(first, { texts, pages }) : row(linkButton(texts.buttons.site, pages.home))],
    roleId: isCall ? roleId : null,
  };
}

function headlineOfOne(change: FeedChange, server: ServerView, { feed }: Texts): string {
  const name = nameOf(server);
  return change === 'players' ? feed.reached({ amount: server.playersCount, name }) : feed[change](name);
}

function headlineOfMany(change: FeedChange, amount: number, { feed }: Texts): string {
  if (change === 'players') return feed.reachedMany;
  return change === 'down' ? feed.downMany(amount) : feed.upMany(amount);
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
