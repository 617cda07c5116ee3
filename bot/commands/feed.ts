import {
  ChannelType,
  channelMention,
  hyperlink,
  inlineCode,
  messageLink,
  roleMention,
  SlashCommandBuilder,
  type SlashCommandChannelOption,
  type SlashCommandStringOption,
  userMention,
} from 'discord.js';
import { FEED_OPTIONS } from '../../src/domain/discord-feed.ts';
import { UNKNOWN_DISCORD_ID } from '../../src/domain/discord-id.ts';
import { InvalidInput } from '../../src/domain/errors.ts';
import { FEED_SUBJECTS, type FeedSubject } from '../../src/domain/event.ts';
import { DEFAULT_LANGUAGE } from '../../src/domain/language.ts';
import { PENALTY_TYPES, type PenaltyType } from '../../src/domain/penalty.ts';
import { foldText } from '../../src/domain/text/fold-text.ts';
import { listGuildFeeds, startDiscordFeed, stopDiscordFeed } from '../../src/queries/discord/feeds.ts';
import { listGuildLiveMessages } from '../../src/queries/discord/live-status-messages.ts';
import { toCustomId } from '../embeds/custom-id.ts';
import { LIMITS } from '../embeds/discord-limits.ts';
import { COLOURS, type MessageView, menuRow, noticeMessage } from '../embeds/message-view.ts';
import { Refusal } from '../embeds/refusal.ts';
import { cut, escapeText, joinLines, relativeTime, toPlainLine } from '../embeds/text.ts';
import { MANAGER_PERMISSION } from '../gateway/moderators.ts';
import type { MentionCommand } from '../locales/command-mentions.ts';
import type { BotPermission, Texts } from '../locales/en.ts';
import { BOT_TEXTS, localizationsOf, localized } from '../locales/localization.ts';
import { SUBJECTS } from '../posting/feeds/subjects.ts';
import {
  type Choice,
  type Command,
  type CommandDeps,
  type CommandOptions,
  type Invoker,
  permissionRequired,
} from './command.ts';
import { completeServer, findServer, MAX_PLAYERS, requireRoomFor } from './server.ts';

const MAX_AFTER_MINUTES = 60;
/** Where members can write. */
const CHANNEL_TYPES = [
  ChannelType.GuildText,
  ChannelType.GuildAnnouncement,
  ChannelType.GuildVoice,
  ChannelType.GuildStageVoice,
  ChannelType.PublicThread,
  ChannelType.PrivateThread,
  ChannelType.AnnouncementThread,
] as const;
/** The value of `types` and `server` that removes their limit. */
const ALL = '*';

/**
 * `/feed start what types? server? players? after? role? channel?`, `/feed list`, `/feed stop what channel?`,
 * `/feed test what channel?`: posts changes in a channel as they happen; for members with Manage Server.
 */
export const feedCommand: Command = {
  define: () =>
    localized(new SlashCommandBuilder(), ({ feed }) => feed)
      .setDefaultMemberPermissions(MANAGER_PERMISSION)
      .addSubcommand((subcommand) =>
        localized(subcommand, ({ feed }) => feed.start)
          .addStringOption((option) => subjectOption(option, ({ feed }) => feed.start.options.what))
          .addStringOption((option) =>
            localized(option, ({ feed }) => feed.start.options.types).setAutocomplete(true),
          )
          .addStringOption((option) =>
            localized(option, ({ feed }) => feed.start.options.server).setAutocomplete(true),
          )
          .addIntegerOption((option) =>
            localized(option, ({ feed }) => feed.start.options.players)
              .setMinValue(0)
              .setMaxValue(MAX_PLAYERS),
          )
          .addIntegerOption((option) =>
            localized(option, ({ feed }) => feed.start.options.after)
              .setMinValue(0)
              .setMaxValue(MAX_AFTER_MINUTES),
          )
          .addRoleOption((option) => localized(option, ({ feed }) => feed.start.options.role))
          .addChannelOption((option) => channelOption(option, ({ feed }) => feed.start.options.channel)),
      )
      .addSubcommand((subcommand) => localized(subcommand, ({ feed }) => feed.list))
      .addSubcommand((subcommand) =>
        localized(subcommand, ({ feed }) => feed.stop)
          .addStringOption((option) => subjectOption(option, ({ feed }) => feed.stop.options.what))
          .addChannelOption((option) => channelOption(option, ({ feed }) => feed.stop.options.channel)),
      )
      .addSubcommand((subcommand) =>
        localized(subcommand, ({ feed }) => feed.test)
          .addStringOption((option) => subjectOption(option, ({ feed }) => feed.test.options.what))
          .addChannelOption((option) => channelOption(option, ({ feed }) => feed.test.options.channel)),
      )
      .toJSON(),
  execute: (deps, invoker, options) => ({
    kind: 'ephemeral',
    sendsMessages: true,
    render: () => {
      const manager = requireManager(invoker, options.channel);
      if (options.subcommand === 'list') return list(deps, manager);
      const subject = FEED_SUBJECTS.find((each) => each === options.what);
      if (subject === undefined) throw new Refusal(({ refusals }) => refusals.outdated);
      if (options.subcommand === 'stop') return stop(deps, manager, subject);
      if (subject === 'appeals' && !deps.takesAppeals) throw new Refusal(({ feed }) => feed.appealsAreOff);
      if (options.subcommand === 'test') return postExample(deps, manager, subject);
      return start(deps, manager, subject, options);
    },
  }),
  autocomplete: (deps, { localization: { texts } }, { text, option }) =>
    [
      ...(['', ALL].includes(text.trim())
        ? [{ name: option === 'types' ? texts.feed.allTypes : texts.record.allServers, value: ALL }]
        : []),
      ...(option === 'types' ? completePenaltyTypes(text, texts) : completeServer(deps, text, texts)),
    ].slice(0, LIMITS.choices),
  components: {
    'feed.end': (deps, invoker, { values: [value = ''] }) => ({
      kind: 'update',
      sendsMessages: true,
      render: async () => {
        const manager = requireManager(invoker);
        await end(deps, manager, value);
        return list(deps, manager);
      },
    }),
  },
};

/** The required option that says what a feed is about. */
function subjectOption(
  option: SlashCommandStringOption,
  pick: Parameters<typeof localized>[1],
): SlashCommandStringOption {
  const choices = FEED_SUBJECTS.map((value) => ({
    name: BOT_TEXTS[DEFAULT_LANGUAGE].feed.subjects[value],
    name_localizations: localizationsOf(({ feed }) => feed.subjects[value]),
    value,
  }));
  return localized(option, pick)
    .setRequired(true)
    .addChoices(...choices);
}

/** The option for another channel than that of the command. */
function channelOption(
  option: SlashCommandChannelOption,
  pick: Parameters<typeof localized>[1],
): SlashCommandChannelOption {
  return localized(option, pick).addChannelTypes(...CHANNEL_TYPES);
}

/** Somebody who may manage the guild; channel and permissions are those of the feed. */
type Manager = Invoker & {
  guildId: string;
  /** Whether the bot has to try to post: Discord sends its permissions only for the channel of the command. */
  isUntried: boolean;
};

/** @throws {Refusal} when the invoker may not manage the guild. */
function requireManager(invoker: Invoker, channel?: CommandOptions['channel']): Manager {
  const { guildId, isInThread } = invoker;
  if (!invoker.canManageGuild || guildId === undefined) {
    throw permissionRequired(invoker, ({ feed }) => feed.manageGuildRequired);
  }
  if (channel === undefined || channel.id === invoker.channelId) {
    // The channel may be a private thread without the bot.
    return { ...invoker, guildId, isUntried: isInThread };
  }
  const { id: channelId, canMentionRoles } = channel;
  return { ...invoker, guildId, channelId, canMentionRoles, botLacks: [], isUntried: true };
}

/**
 * Starts a feed, or changes the settings of one; those that the options do not name stay. `types:*`, `server:*`,
 * `players:0` and `role:@everyone` unset theirs.
 */
async function start(
  deps: CommandDeps,
  manager: Manager,
  subject: FeedSubject,
  options: CommandOptions,
): Promise<MessageView> {
  const { guildId, channelId, discordId, botLacks } = manager;
  const { types, server, players, after, role } = options;
  const { options: allowed } = SUBJECTS[subject];
  if (FEED_OPTIONS.some((name) => options[name] !== undefined && !allowed.includes(name))) {
    throw new Refusal(({ commands, feed }) => {
      const names = allowed.map((name) => inlineCode(commands.feed.start.options[name].name));
      return feed.takesOnly({ subject, options: names });
    });
  }
  if (botLacks.length > 0) throw new Refusal(({ feed }) => feed.cannotPost(permissionList(botLacks, feed)));
  const only =
    server === undefined || isAll(server, ({ record }) => record.allServers)
      ? undefined
      : findServer(deps, server);
  if (players) requireRoomFor(players, only ? [only] : deps.servers.listViews());
  const roleId = role?.id === guildId ? null : role?.id;
  if (role && roleId && !role.isMentionable) {
    const mention = roleMention(roleId);
    if (!manager.canMentionRoles) throw new Refusal(({ feed }) => feed.mayNotMention(mention));
    if (!manager.botCanMentionRoles) throw new Refusal(({ feed }) => feed.cannotMention(mention));
  }
  const before = await findFeed(deps, manager, subject);
  if (manager.isUntried && (!before || before.pausedAt)) {
    const content = manager.guildLocalization.texts.feed.begins(subject);
    await deps.postMessage(manager, { content, embeds: [], components: [] });
  }
  const { id, isNew } = await startDiscordFeed(deps.db, {
    subject,
    channelId,
    guildId,
    startedBy: discordId,
    locale: manager.guildLocale,
    ...(types !== undefined && { penaltyTypes: parsePenaltyTypes(types) }),
    ...(server !== undefined && { serverId: only?.id ?? null }),
    ...(players !== undefined && { playersAtLeast: players || null }),
    ...(after !== undefined && { afterMinutes: after }),
    ...(players === 0 && { roleId: null }),
    ...(roleId !== undefined && { roleId }),
  }).catch((error) => {
    throw error instanceof InvalidInput ? new Refusal(({ feed }) => feed.roleNeedsPlayers) : error;
  });
  deps.onFeedsChanged();
  const { texts } = manager.localization;
  const { feed: words } = texts;
  const feeds = await listGuildFeeds(deps.db, guildId);
  const feed = feeds.find((each) => each.id === id);
  const settings = feed ? [feedSettings(feed, texts)] : [];
  const channel = channelMention(channelId);
  const text = isNew
    ? words.started({ subject, channel, stop: deps.mention('feed stop', texts) })
    : before?.pausedAt
      ? words.resumed({ subject, channel, since: relativeTime(before.pausedAt) })
      : words.changed({ subject, channel });
  const messages = await listGuildLiveMessages(deps.db, guildId);
  const paused = [...feeds, ...messages].filter(({ pausedAt }) => pausedAt !== null);
  const others = paused.length > 0 ? [words.othersPaused(paused.length)] : [];
  return done([text, ...settings, ...others].join('\n'));
}

async function findFeed(
  { db }: CommandDeps,
  { guildId, channelId }: Manager,
  subject: FeedSubject,
): Promise<ListedFeed | undefined> {
  const feeds = await listGuildFeeds(db, guildId);
  return feeds.find((feed) => feed.channelId === channelId && feed.subject === subject);
}

async function stop(
  { db, onFeedsChanged }: CommandDeps,
  { channelId, discordId, localization }: Manager,
  subject: FeedSubject,
): Promise<MessageView> {
  const wasThere = await stopDiscordFeed(db, { channelId, subject }, { actor: { discordId } });
  if (!wasThere)
    throw new Refusal(({ feed }) => feed.noSuchFeed({ subject, channel: channelMention(channelId) }));
  onFeedsChanged();
  return done(localization.texts.feed.stopped({ subject, channel: channelMention(channelId) }));
}

/** Ends a feed, or removes a live status message. @param value of the menu; it can be forged. */
async function end(deps: CommandDeps, manager: Manager, value: string): Promise<void> {
  const [, kind, id = ''] = /^(feed|live)-([0-9]{1,20})$/.exec(value) ?? [];
  if (kind === 'live') await deps.unpinLiveStatus(manager, id);
  if (kind !== 'feed') return;
  const feed = (await listGuildFeeds(deps.db, manager.guildId)).find((each) => String(each.id) === id);
  if (!feed) return;
  await stopDiscordFeed(deps.db, feed, { actor: { discordId: manager.discordId } });
  deps.onFeedsChanged();
}

/** Posts an example of what a feed would post in the invoker's channel. */
async function postExample(deps: CommandDeps, manager: Manager, subject: FeedSubject): Promise<MessageView> {
  const { channelId, botLacks, guildLocalization, localization } = manager;
  if (botLacks.length > 0) throw new Refusal(({ feed }) => feed.cannotPost(permissionList(botLacks, feed)));
  const { texts } = guildLocalization;
  const feed = await findFeed(deps, manager, subject);
  const { roleId, ...example } = SUBJECTS[subject].example(deps, texts, feed?.roleId ?? null);
  const role = roleId ? [roleMention(roleId)] : [];
  const content = [texts.feed.example, ...role, example.content].join(' ');
  await deps.postMessage(manager, { ...example, content });
  return done(localization.texts.feed.tested(channelMention(channelId)));
}

function done(text: string): MessageView {
  return noticeMessage(`📣 ${text}`, COLOURS.online);
}

type ListedFeed = Awaited<ReturnType<typeof listGuildFeeds>>[number];

/**
 * The feeds and live status messages of a guild, and a menu that ends one of them. If the invoker's channel has a feed, also
 * the permissions that the bot lacks there.
 */
async function list(
  { db, mention }: CommandDeps,
  { guildId, channelId, botLacks, localization: { texts } }: Manager,
): Promise<MessageView> {
  const [feeds, messages] = [await listGuildFeeds(db, guildId), await listGuildLiveMessages(db, guildId)];
  const { feed: words } = texts;
  if (feeds.length + messages.length === 0) {
    return noticeMessage(words.none(mention('feed start', texts)), COLOURS.neutral);
  }
  const isMute = botLacks.length > 0 && feeds.some((feed) => feed.channelId === channelId);
  const warning = isMute ? `\n\n⚠️ ${words.lacksHere(permissionList(botLacks, words))}` : '';
  const lines = [
    ...feeds.map((feed) => feedLine(feed, texts, mention)),
    ...messages.map((message) => liveLine(message, texts)),
  ].map((line, index) => `${index + 1}. ${line}`);
  const options = [
    ...feeds.map(({ id, subject }) => ({ label: words.subjects[subject], value: `feed-${id}` })),
    ...messages.map((message) => ({
      label: `${words.liveMessage}: ${toPlainLine(shownServer(message, texts))}`,
      value: `live-${message.messageId}`,
    })),
  ].map(({ label, value }, index) => ({
    label: cut(`${index + 1}. ${label}`, LIMITS.menuOptionText),
    value,
  }));
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
    components: [menuRow(toCustomId('feed.end'), words.end, options.slice(0, LIMITS.menuOptions))],
  };
}

type ListedMessage = Awaited<ReturnType<typeof listGuildLiveMessages>>[number];

/** `<#1> **Live status**: Mirage · [Message](…)` */
function liveLine(message: ListedMessage, texts: Texts): string {
  const { guildId, channelId, messageId, pausedAt } = message;
  const link = hyperlink(texts.feed.message, messageLink(channelId, messageId, guildId ?? ''));
  const server = escapeText(shownServer(message, texts), { max: 64 });
  const pause = pausedAt ? ` · ${texts.feed.livePausedSince(relativeTime(pausedAt))}` : '';
  return `${channelMention(channelId)} **${texts.feed.liveMessage}**: ${server} · ${link}${pause}`;
}

/** The name of the server that a live status message shows. */
function shownServer({ serverId, serverName }: ListedMessage, { record, server }: Texts): string {
  return serverName ?? (serverId === null ? record.allServers : server.noLongerListed);
}

/** Permissions by the names they have in Discord's settings. */
function permissionList(lacking: readonly BotPermission[], { permissions }: Texts['feed']): string {
  return lacking.map((permission) => `**${permissions[permission]}**`).join(', ');
}

function feedLine(feed: ListedFeed, texts: Texts, mention: MentionCommand): string {
  const { channelId, startedBy, pausedAt } = feed;
  const starter =
    startedBy === UNKNOWN_DISCORD_ID ? '' : ` · ${texts.feed.startedBy(userMention(startedBy))}`;
  const pause = pausedAt
    ? ` · ${texts.feed.pausedSince(relativeTime(pausedAt), mention('feed start', texts))}`
    : '';
  return `${channelMention(channelId)} ${feedSettings(feed, texts)}${starter}${pause}`;
}

/** What a feed posts: `**Penalties**: Ban · all servers`. */
function feedSettings(feed: ListedFeed, { feed: words, record }: Texts): string {
  const { subject, penaltyTypes, playersAtLeast, roleId, serverName, afterMinutes } = feed;
  const { options } = SUBJECTS[subject];
  const details = [
    ...(options.includes('types')
      ? [penaltyTypes?.map((type) => record.types[type]).join(', ') ?? words.allTypes]
      : []),
    ...(options.includes('server')
      ? [serverName === undefined ? record.allServers : escapeText(serverName, { max: 64 })]
      : []),
    ...(options.includes('after') ? [words.downAfter(afterMinutes)] : []),
    ...(playersAtLeast === null ? [] : [words.playersAtLeast(playersAtLeast)]),
    ...(roleId === null ? [] : [roleMention(roleId)]),
  ];
  return [`**${words.subjects[subject]}**`, details.join(' · ')].filter(Boolean).join(': ');
}

/**
 * Parses comma-separated types of penalties, by their names in the API or in any language of the bot.
 * @returns each once, in the order of PENALTY_TYPES; null for `*` and an empty text, which mean all.
 * @throws {Refusal} that quotes the unknown type and lists the types.
 */
function parsePenaltyTypes(text: string): PenaltyType[] | null {
  const words = wordsOf(text).filter((word) => word !== '');
  if (words.some((word) => isAll(word, ({ feed }) => feed.allTypes))) return null;
  const types = words.map((word) => {
    const type = findType(word);
    if (type !== undefined) return type;
    const quoted = escapeText(word, { max: 64, fallback: '?' });
    throw new Refusal(({ feed, record }) => {
      const allowed = PENALTY_TYPES.map((each) => record.types[each].toLowerCase()).join(', ');
      return feed.unknownType({ text: quoted, allowed });
    });
  });
  return types.length === 0 ? null : PENALTY_TYPES.filter((type) => types.includes(type));
}

/** Suggests each type that a comma-separated list does not have yet, as the completion of its last entry. */
function completePenaltyTypes(typed: string, { record }: Texts): Choice[] {
  const words = wordsOf(typed);
  const last = foldText(words.at(-1) ?? '');
  const before = [...new Set(words.slice(0, -1).flatMap((word) => findType(word) ?? []))];
  return PENALTY_TYPES.filter(
    (type) => !before.includes(type) && namesOf(type).some((name) => name.startsWith(last)),
  ).map((type) => ({
    name: [...before, type].map((each) => record.types[each]).join(', '),
    value: [...before, type].join(', '),
  }));
}

/** Whether an option removes a limit: its value, or the label of that suggestion in any language. */
function isAll(text: string, pick: (texts: Texts) => string): boolean {
  return [ALL, ...Object.values(BOT_TEXTS).map(pick)].map(foldText).includes(foldText(text.trim()));
}

function wordsOf(text: string): string[] {
  return text.split(',').map((word) => word.trim());
}

function findType(word: string): PenaltyType | undefined {
  return PENALTY_TYPES.find((type) => namesOf(type).includes(foldText(word)));
}

function namesOf(type: PenaltyType): string[] {
  return [type, ...Object.values(BOT_TEXTS).map(({ record }) => record.types[type])].map(foldText);
}
