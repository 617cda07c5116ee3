import { inlineCode, SlashCommandBuilder, SnowflakeUtil, TimestampStyles, userMention } from 'discord.js';
import { withoutDiscord } from '../../src/domain/rights/discord-visibility.ts';
import { accountId, type SteamId64 } from '../../src/domain/steam-id.ts';
import { findUser, type LookedUpUser } from '../../src/queries/users/users.ts';
import { COLOURS, type MessageView, playerLinks, recordButton, row } from '../embeds/message-view.ts';
import { type SteamBansView, steamBansLine } from '../embeds/player-record.ts';
import { Refusal } from '../embeds/refusal.ts';
import { absoluteAndRelativeTime, escapeText } from '../embeds/text.ts';
import { MODERATOR_PERMISSION } from '../gateway/moderators.ts';
import type { Texts } from '../locales/en.ts';
import { localized } from '../locales/localization.ts';
import { loadSteamBans, readerOf, renderRecord } from './ban-check.ts';
import type { Command, CommandDeps } from './command.ts';
import {
  completePlayer,
  moderateMembersRequired,
  type PersonCommand,
  repeatForCandidate,
  resolveSteamOptions,
  respondAboutPerson,
  showsDiscord,
} from './subject.ts';

/** `/lookup user? steamid? player? show?`: a member's profile by the rules of `GET /users/lookup` (specification 4.5). */
export const lookupCommand: Command = {
  define: () =>
    localized(new SlashCommandBuilder(), ({ lookup }) => lookup)
      .setDefaultMemberPermissions(MODERATOR_PERMISSION)
      .addUserOption((option) => localized(option, ({ lookup }) => lookup.options.user))
      .addStringOption((option) => localized(option, ({ lookup }) => lookup.options.steamid))
      .addStringOption((option) =>
        localized(option, ({ lookup }) => lookup.options.player).setAutocomplete(true),
      )
      .addBooleanOption((option) => localized(option, ({ lookup }) => lookup.options.show))
      .toJSON(),
  execute: (deps, invoker, options) =>
    respondAboutPerson('lookup', { invoker, options }, (command) => renderUser(deps, command)),
  autocomplete: (deps, invoker, { text }) => completePlayer(deps, invoker, text),
  components: {
    'lookup.player': repeatForCandidate((...command) => lookupCommand.execute(...command)),
  },
};

async function renderUser(deps: CommandDeps, command: PersonCommand): Promise<MessageView> {
  const { invoker, kind } = command;
  const { texts } = command.localization;
  const isPublic = kind === 'public';
  const subject = await resolveSubject(deps, command);
  const account = await findUser(deps.db, subject, deps.now());
  const isHidden = account !== undefined && !showsDiscord(account, invoker, kind);
  if (!account || (isHidden && 'discordId' in subject)) {
    if ('discordId' in subject) {
      const mention = userMention(subject.discordId);
      throw new Refusal(({ refusals }) => refusals.notLinkedUser(mention));
    }
    return renderRecord(deps, subject.steamId64, { invoker, isPublic, page: 1 });
  }
  const user = isHidden ? withoutDiscord(account) : account;
  const steamBans = await loadSteamBans(deps, user.steamId64);
  const page = deps.pages.player(user.steamId64, readerOf(invoker, account, isPublic));
  return userMessage(user, { texts, page, steamBans });
}

/**
 * The player to look up. One option is required; of several, the Discord user takes precedence, then the SteamID.
 * @throws {Refusal} when there is none, or when the invoker may not see them.
 */
async function resolveSubject(
  deps: CommandDeps,
  command: PersonCommand,
): Promise<{ discordId: string } | { steamId64: SteamId64 }> {
  const { invoker, options } = command;
  const discordId = options.user;
  if (discordId !== undefined) {
    if (!invoker.canModerateMembers && discordId !== invoker.discordId)
      throw moderateMembersRequired(invoker);
    return { discordId };
  }
  const steamId64 = await resolveSteamOptions(deps, command);
  if (steamId64 === undefined) throw new Refusal(({ refusals }) => refusals.whomToLookUp);
  return { steamId64 };
}

/** The profile of a member of the community. @param page about them on this site. */
function userMessage(
  user: LookedUpUser,
  {
    texts,
    page,
    steamBans,
  }: { texts: Texts; page: string | undefined; steamBans: SteamBansView | undefined },
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
