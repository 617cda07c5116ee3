import { SlashCommandBuilder } from 'discord.js';
import { LimitReached } from '../../src/domain/errors.ts';
import {
  hasRoomForNotification,
  listNotificationsOf,
  MAX_NOTIFICATIONS,
  removeNotifications,
  resumeNotifications,
  saveNotification,
} from '../../src/queries/discord/notifications.ts';
import { toCustomId, tryParsePositive } from '../embeds/custom-id.ts';
import { LIMITS } from '../embeds/discord-limits.ts';
import { COLOURS, type MessageView, menuRow, noticeMessage } from '../embeds/message-view.ts';
import { Refusal } from '../embeds/refusal.ts';
import { cut, escapeText, relativeTime, toPlainLine } from '../embeds/text.ts';
import type { Texts } from '../locales/en.ts';
import { localized } from '../locales/localization.ts';
import { isInboxClosed } from '../posting/channel-messages.ts';
import { offRow } from '../posting/notifications.ts';
import { completeChoices, findChoice } from './choices.ts';
import type { Choice, Command, CommandDeps, CommandOptions, Invoker } from './command.ts';
import { completeServer, findServer, MAX_PLAYERS, requireRoomFor } from './server.ts';

/**
 * `/notify on server players`, `/notify list`, `/notify off server?`: direct messages when a server has that many players;
 * for everyone, only about themselves.
 */
export const notifyCommand: Command = {
  define: () =>
    localized(new SlashCommandBuilder(), ({ notify }) => notify)
      .addSubcommand((subcommand) =>
        localized(subcommand, ({ notify }) => notify.on)
          .addStringOption((option) =>
            localized(option, ({ notify }) => notify.on.options.server)
              .setRequired(true)
              .setAutocomplete(true),
          )
          .addIntegerOption((option) =>
            localized(option, ({ notify }) => notify.on.options.players)
              .setRequired(true)
              .setMinValue(1)
              .setMaxValue(MAX_PLAYERS),
          ),
      )
      .addSubcommand((subcommand) => localized(subcommand, ({ notify }) => notify.list))
      .addSubcommand((subcommand) =>
        localized(subcommand, ({ notify }) => notify.off).addStringOption((option) =>
          localized(option, ({ notify }) => notify.off.options.server).setAutocomplete(true),
        ),
      )
      .toJSON(),
  execute: (deps, invoker, options) => ({
    kind: 'ephemeral',
    ...(options.subcommand === 'on' && { sendsMessages: true }),
    render: async () => {
      if (options.subcommand === 'on') return switchOn(deps, invoker, options);
      const wasPaused = await resumeNotifications(deps.db, invoker.discordId);
      const view =
        options.subcommand === 'list'
          ? await list(deps, invoker)
          : await switchOff(deps, invoker, await findOwnServer(deps, invoker, options));
      return wasPaused ? { ...view, embeds: [...resumed(invoker.localization.texts), ...view.embeds] } : view;
    },
  }),
  autocomplete: async (deps, { discordId, localization: { texts } }, { text, subcommand }) =>
    subcommand === 'off'
      ? completeChoices(await listChoices(deps, discordId, texts), text)
      : completeServer(deps, text, texts),
  components: {
    'notify.off': (deps, invoker, { args: [serverId] }) => ({
      kind: 'ephemeral',
      render: () => switchOff(deps, invoker, requireId(serverId)),
    }),
    'notify.end': (deps, invoker, { values: [serverId] }) => ({
      kind: 'update',
      render: async () => {
        await removeNotifications(deps.db, invoker.discordId, requireId(serverId));
        return list(deps, invoker);
      },
    }),
  },
};

/** @throws {Refusal} for what a forged component may contain. */
function requireId(text: string | undefined): number {
  const id = tryParsePositive(text);
  if (id === undefined) throw new Refusal(({ refusals }) => refusals.outdated);
  return id;
}

/** The first message goes at once, so that a closed inbox is noticed now rather than when it matters. */
async function switchOn(
  deps: CommandDeps,
  { discordId, localization: { texts }, locale }: Invoker,
  { server: name = '', players = 1 }: CommandOptions,
): Promise<MessageView> {
  const { notify: words } = texts;
  const server = findServer(deps, name);
  requireRoomFor(players, [server]);
  const isReached = server.playersCount >= players;
  const notification = {
    discordId,
    serverId: server.id,
    playersAtLeast: players,
    locale,
    isArmed: !isReached,
  };
  const tooMany = () => new Refusal(({ notify }) => notify.tooMany(MAX_NOTIFICATIONS));
  if (!(await hasRoomForNotification(deps.db, notification))) throw tooMany();
  const promise = words.promise({ server: `**${escapeText(server.name, { max: 64 })}**`, players });
  const first = [promise, ...(isReached ? [words.reachedAlready] : [])].join('\n');
  await sendFirst(deps, discordId, {
    content: `🔔 ${first}`,
    embeds: [],
    components: [offRow(server.id, texts)],
  });
  if (!(await saveNotification(deps.db, notification))) throw tooMany();
  const wasPaused = await resumeNotifications(deps.db, discordId);
  const off = deps.mention('notify off', texts);
  return done([...(wasPaused ? [words.resumed] : []), words.on(off), first].join('\n'));
}

/** @throws {Refusal} when Discord does not let the bot write to this person, now or at all. */
async function sendFirst(deps: CommandDeps, discordId: string, message: MessageView): Promise<void> {
  try {
    await deps.sendDirectMessage(discordId, message);
  } catch (error) {
    if (isInboxClosed(error)) throw new Refusal(({ notify }) => notify.inboxClosed);
    if (!(error instanceof LimitReached)) throw error;
    const at = new Date(deps.now().getTime() + error.retryAfterSeconds * 1000);
    throw new Refusal(({ notify }) => notify.limited(relativeTime(at)));
  }
}

/** The notifications of a person, with a menu that ends one. */
async function list(
  { db, mention }: CommandDeps,
  { discordId, localization: { texts } }: Invoker,
): Promise<MessageView> {
  const { notify: words, feed } = texts;
  const own = await listNotificationsOf(db, discordId);
  if (own.length === 0) return noticeMessage(words.none(mention('notify on', texts)), COLOURS.neutral);
  const lines = own.map(
    ({ name, playersAtLeast }) =>
      `**${escapeText(name, { max: 64 })}**: ${feed.playersAtLeast(playersAtLeast)}`,
  );
  const options = own.map((each) => ({ ...labelOf(each, texts), value: String(each.serverId) }));
  return {
    ...noticeMessage(lines.join('\n'), COLOURS.neutral, [
      menuRow(toCustomId('notify.end'), words.end, options),
    ]),
  };
}

type Own = Awaited<ReturnType<typeof listNotificationsOf>>[number];

function labelOf({ name, playersAtLeast }: Own, { feed }: Texts): { label: string } {
  const rest = ` · ${feed.playersAtLeast(playersAtLeast)}`;
  return { label: `${cut(toPlainLine(name), LIMITS.menuOptionText - rest.length)}${rest}` };
}

/** The servers about which a person gets notifications, as choices. */
async function listChoices({ db }: CommandDeps, discordId: string, texts: Texts): Promise<Choice[]> {
  const own = await listNotificationsOf(db, discordId);
  return own.map((each) => ({ name: labelOf(each, texts).label, value: each.slug }));
}

/**
 * @returns the id of the server that an option names; undefined without it.
 * @throws {Refusal} when the person gets no notifications about it.
 */
async function findOwnServer(
  deps: CommandDeps,
  { discordId, localization: { texts } }: Invoker,
  { server }: CommandOptions,
): Promise<number | undefined> {
  const text = server?.trim();
  if (!text) return undefined;
  const slug = findChoice(await listChoices(deps, discordId, texts), text);
  const own = (await listNotificationsOf(deps.db, discordId)).find((each) => each.slug === slug);
  return own?.serverId ?? findServer(deps, text).id;
}

async function switchOff(
  { db, mention }: CommandDeps,
  { discordId, localization: { texts } }: Invoker,
  serverId: number | undefined,
): Promise<MessageView> {
  const { notify: words } = texts;
  const removed = await removeNotifications(db, discordId, serverId);
  return removed === 0
    ? noticeMessage(words.none(mention('notify on', texts)), COLOURS.neutral)
    : done(words.off(removed));
}

function resumed({ notify }: Texts): MessageView['embeds'] {
  return noticeMessage(notify.resumed).embeds;
}

function done(text: string): MessageView {
  return noticeMessage(`🔔 ${text}`, COLOURS.online);
}
