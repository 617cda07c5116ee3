import { ApplicationCommandType } from 'discord.js';
import type { Db } from '../../src/db/client.ts';
import { FEED_SUBJECTS, type FeedSubject } from '../../src/domain/discord-feed.ts';
import { listGuildFeeds, startDiscordFeed, stopDiscordFeed } from '../../src/queries/discord-feeds/feeds.ts';
import { type Command, type CommandOptions, type Invoker, Refusal } from '../command.ts';
import type { MentionCommand } from '../command-mentions.ts';
import { feedList, feedSettings, type ListedFeed, permissionList } from '../embeds/feed-list.ts';
import { COLOURS, type MessageView, noticeMessage } from '../embeds/message.ts';
import type { Texts } from '../locales/en.ts';
import {
  choiceOption,
  FOR_MANAGERS,
  integerOption,
  localized,
  roleOption,
  stringOption,
  subcommand,
} from './definition.ts';
import { completePenaltyTypes, parsePenaltyTypes } from './penalty-types.ts';
import { completeServer, findServer, type ServerChoiceDeps } from './server-choice.ts';

export type FeedDeps = ServerChoiceDeps & {
  db: Db;
  mention: MentionCommand;
  /** Called after a feed was started, changed or stopped. */
  onFeedsChanged: () => void;
};

/** A2S_INFO has one byte for the number of slots. */
const MAX_PLAYERS = 255;

/**
 * `/feed start what types? server? players? role?`, `/feed list`, `/feed stop what`: posts changes in a channel as they
 * happen; for members with Manage Server.
 */
export const feedCommand: Command<FeedDeps> = {
  define: () => ({
    ...localized((commands) => commands.feed),
    type: ApplicationCommandType.ChatInput,
    default_member_permissions: FOR_MANAGERS,
    options: [
      subcommand(
        (commands) => commands.feed.start,
        [
          choiceOption((commands) => commands.feed.start.options.what, FEED_SUBJECTS, labelOf),
          stringOption((commands) => commands.feed.start.options.types, { autocomplete: true }),
          stringOption((commands) => commands.feed.start.options.server, { autocomplete: true }),
          integerOption((commands) => commands.feed.start.options.players, { min: 1, max: MAX_PLAYERS }),
          roleOption((commands) => commands.feed.start.options.role),
        ],
      ),
      subcommand((commands) => commands.feed.list),
      subcommand(
        (commands) => commands.feed.stop,
        [choiceOption((commands) => commands.feed.stop.options.what, FEED_SUBJECTS, labelOf)],
      ),
    ],
  }),
  execute: (deps, invoker, options) => ({
    kind: 'ephemeral',
    render: () => {
      const manager = requireManager(invoker);
      if (options.subcommand === 'list') return list(deps, manager);
      const subject = FEED_SUBJECTS.find((each) => each === options.strings.what);
      if (subject === undefined) throw new Refusal(({ refusals }) => noticeMessage(refusals.outdated));
      return options.subcommand === 'stop'
        ? stop(deps, manager, subject)
        : start(deps, manager, subject, options);
    },
  }),
  autocomplete: (deps, { localization: { texts } }, { text, option }) =>
    option === 'types' ? completePenaltyTypes(text, texts) : completeServer(deps, text, texts),
};

function labelOf(texts: Texts, subject: FeedSubject): string {
  return texts.feed.subjects[subject];
}

type Manager = Invoker & { guildId: string };

/** @throws {Refusal} when the invoker may not manage the guild. */
function requireManager(invoker: Invoker): Manager {
  const { guildId } = invoker;
  if (invoker.canManageGuild && guildId !== undefined) return { ...invoker, guildId };
  throw refusal((words) => words.manageGuildRequired);
}

/** Starts a feed, or changes the settings of one; those that the options do not name stay. */
async function start(
  deps: FeedDeps,
  manager: Manager,
  subject: FeedSubject,
  { strings, numbers, roles }: CommandOptions,
): Promise<MessageView> {
  const { types } = strings;
  const server = strings.server?.trim();
  const { players } = numbers;
  const { role } = roles;
  const before = await findFeed(deps, manager, subject);
  const playersAtLeast = players ?? before?.playersAtLeast ?? null;
  if (subject !== 'penalties' && types !== undefined) throw refusal((words) => words.forPenaltiesOnly);
  if (subject !== 'servers' && (players !== undefined || role))
    throw refusal((words) => words.forServersOnly);
  if (role && playersAtLeast === null) throw refusal((words) => words.roleNeedsPlayers);
  if (role?.id === manager.guildId) throw refusal((words) => words.notEveryone);
  if (manager.botLacks.length > 0) {
    throw refusal((words) => words.cannotPost(permissionList(manager.botLacks, words)));
  }
  if (role && !role.isMentionable && !manager.botCanMentionRoles) {
    throw refusal((words) => words.cannotMention(`<@&${role.id}>`));
  }
  const { isNew } = await startDiscordFeed(deps.db, {
    subject,
    channelId: manager.channelId,
    guildId: manager.guildId,
    startedBy: manager.discordId,
    locale: manager.guildLocalization.locale,
    penaltyTypes: types === undefined ? (before?.penaltyTypes ?? null) : parsePenaltyTypes(types),
    serverId: server === undefined ? (before?.serverId ?? null) : findServer(deps, server).id,
    playersAtLeast,
    roleId: role?.id ?? before?.roleId ?? null,
  });
  deps.onFeedsChanged();
  const { texts } = manager.localization;
  const { feed: words } = texts;
  const feed = await findFeed(deps, manager, subject);
  const settings = feed ? `\n${feedSettings(feed, texts)}` : '';
  const text = isNew
    ? words.started({ subject, stop: deps.mention('feed stop', texts) })
    : words.changed(subject);
  return done(`${text}${settings}`);
}

async function findFeed(
  { db }: FeedDeps,
  { guildId, channelId }: Manager,
  subject: FeedSubject,
): Promise<ListedFeed | undefined> {
  const feeds = await listGuildFeeds(db, guildId);
  return feeds.find((each) => each.channelId === channelId && each.subject === subject);
}

async function list({ db, mention }: FeedDeps, manager: Manager): Promise<MessageView> {
  const feeds = await listGuildFeeds(db, manager.guildId);
  return feedList(feeds, manager, { texts: manager.localization.texts, mention });
}

async function stop(
  { db, onFeedsChanged }: FeedDeps,
  { channelId, discordId, localization }: Manager,
  subject: FeedSubject,
): Promise<MessageView> {
  const actor = { discordId };
  const wasThere = await stopDiscordFeed(db, { channelId, subject }, { actor });
  if (!wasThere) throw refusal((words) => words.noSuchFeed(subject));
  onFeedsChanged();
  return done(localization.texts.feed.stopped(subject));
}

function done(text: string): MessageView {
  return noticeMessage(`📣 ${text}`, COLOURS.online);
}

function refusal(explain: (words: Texts['feed']) => string): Refusal {
  return new Refusal((texts) => noticeMessage(explain(texts.feed)));
}
