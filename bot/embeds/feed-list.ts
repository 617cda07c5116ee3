import { channelMention, roleMention, userMention } from 'discord.js';
import { UNKNOWN_DISCORD_ID } from '../../src/domain/discord-id.ts';
import type { DiscordFeed } from '../../src/queries/discord-feeds/feeds.ts';
import type { Invoker } from '../command.ts';
import type { MentionCommand } from '../command-mentions.ts';
import { LIMITS } from '../discord-limits.ts';
import type { BotPermission, Texts } from '../locales/en.ts';
import { escapeText, joinLines } from '../text.ts';
import { COLOURS, type MessageView, noticeMessage } from './message.ts';

/** A feed and the name of its server. */
export type ListedFeed = DiscordFeed & { serverName: string | undefined };

/** The feeds of a guild. If the invoker's channel has a feed, also the permissions that the bot lacks there. */
export function feedList(
  feeds: readonly ListedFeed[],
  { channelId, botLacks }: Pick<Invoker, 'channelId' | 'botLacks'>,
  { texts, mention }: { texts: Texts; mention: MentionCommand },
): MessageView {
  const { feed: words } = texts;
  if (feeds.length === 0) return noticeMessage(words.none(mention('feed start', texts)), COLOURS.neutral);
  const isMute = botLacks.length > 0 && feeds.some((feed) => feed.channelId === channelId);
  const warning = isMute ? `\n\n⚠️ ${words.lacksHere(permissionList(botLacks, words))}` : '';
  const lines = feeds.map((feed) => feedLine(feed, texts));
  return {
    embeds: [
      {
        title: `📣 ${words.listTitle}`,
        color: isMute ? COLOURS.warning : COLOURS.neutral,
        description:
          joinLines(lines, { max: LIMITS.embedDescription - warning.length, more: texts.server.more }) +
          warning,
      },
    ],
    components: [],
  };
}

/** Permissions by the names they have in Discord's settings. */
export function permissionList(lacking: readonly BotPermission[], { permissions }: Texts['feed']): string {
  return lacking.map((permission) => `**${permissions[permission]}**`).join(', ');
}

function feedLine(feed: ListedFeed, texts: Texts): string {
  const { channelId, startedBy } = feed;
  const starter =
    startedBy === UNKNOWN_DISCORD_ID ? '' : ` · ${texts.feed.startedBy(userMention(startedBy))}`;
  return `${channelMention(channelId)} ${feedSettings(feed, texts)}${starter}`;
}

/** What a feed posts: `**Penalties**: Ban · all servers`. */
export function feedSettings(feed: ListedFeed, { feed: words, record }: Texts): string {
  const { subject, penaltyTypes, playersAtLeast, roleId, serverName } = feed;
  const details = [
    ...(subject === 'penalties'
      ? [penaltyTypes?.map((type) => record.types[type]).join(', ') ?? words.allTypes]
      : []),
    serverName === undefined ? record.allServers : escapeText(serverName, { max: 64 }),
    ...(playersAtLeast === null ? [] : [words.playersAtLeast(playersAtLeast)]),
    ...(roleId === null ? [] : [roleMention(roleId)]),
  ];
  return `**${words.subjects[subject]}**: ${details.join(' · ')}`;
}
