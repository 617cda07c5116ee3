import { type APIButtonComponent, inlineCode, SnowflakeUtil, TimestampStyles, userMention } from 'discord.js';
import { accountId, type SteamId64 } from '../../src/domain/steam-id.ts';
import type { LookedUpUser } from '../../src/queries/users/users.ts';
import { toCustomId } from '../interactions/custom-id.ts';
import type { Texts } from '../locales/en.ts';
import { absoluteAndRelativeTime, escapeText } from '../text.ts';
import { button, COLOURS, type MessageView, playerLinks, row } from './message.ts';
import { type SteamBansView, steamBansLine } from './steam-bans.ts';

/** The profile of a member of the community. @param page about them on this site. */
export function userMessage(
  user: LookedUpUser,
  { texts, page, steamBans }: { texts: Texts; page: string; steamBans: SteamBansView | undefined },
): MessageView {
  const { user: words } = texts;
  const id = accountId(user.steamId64);
  const inline = (name: string, value: string) => ({ name, value, inline: true });
  const discordSince = user.discordId ? new Date(SnowflakeUtil.timestampFrom(user.discordId)) : undefined;
  return {
    embeds: [
      {
        title: escapeText(user.nickname, { max: 100, fallback: words.unnamed }),
        color: user.isBanned ? COLOURS.danger : COLOURS.neutral,
        fields: [
          { name: words.flags, value: flagsOf(user, texts) },
          ...(steamBans === undefined
            ? []
            : [{ name: texts.steamBans.title, value: steamBansLine(steamBans, texts) }]),
          inline(words.steamId, inlineCode(user.steamId64)),
          inline(words.accountId, inlineCode(String(id))),
          inline(
            words.otherNotations,
            `${inlineCode(`STEAM_1:${id % 2}:${Math.floor(id / 2)}`)}\n${inlineCode(`[U:1:${id}]`)}`,
          ),
          inline(words.discord, discordOf(user, texts)),
          inline(words.memberSince, absoluteAndRelativeTime(user.createdAt, TimestampStyles.LongDate)),
          ...(discordSince
            ? [inline(words.discordSince, absoluteAndRelativeTime(discordSince, TimestampStyles.LongDate))]
            : []),
        ],
        ...(/^https:\/\/\S+$/.test(user.avatarUrl) && { thumbnail: { url: user.avatarUrl } }),
      },
    ],
    components: [row(recordButton(user.steamId64, texts), ...playerLinks(texts, user.steamId64, page))],
  };
}

/** A button that opens the record of a player, for the one who presses it. */
export function recordButton(steamId: SteamId64, { buttons }: Texts): APIButtonComponent {
  return button(buttons.record, toCustomId('record.open', steamId), { emoji: '📜' });
}

function flagsOf(user: LookedUpUser, { user: words }: Texts): string {
  const flags = [
    user.isBanned && `⛔ ${words.banned}`,
    user.isOwner && `👑 ${words.owner}`,
    user.isAdmin && `🛡️ ${words.admin}`,
    user.hasSvip && `💎 ${words.svip}`,
    user.isServiceplus && `⭐ ${words.premium}`,
  ].filter((flag) => flag !== false);
  return flags.join(' · ') || words.noFlags;
}

function discordOf({ discordId, discordUsername }: LookedUpUser, { user: words }: Texts): string {
  if (discordId === null) return words.notLinked;
  const name = escapeText(discordUsername, { max: 64 });
  const mention = userMention(discordId);
  return name === '' ? mention : `${mention} (${name})`;
}
