import { SlashCommandBuilder } from 'discord.js';
import {
  MAX_NOTIFICATIONS,
  removeNotifications,
  saveNotification,
} from '../../src/queries/discord/notifications.ts';
import { tryParsePositive } from '../embeds/custom-id.ts';
import { COLOURS, type MessageView, noticeMessage } from '../embeds/message-view.ts';
import { Refusal } from '../embeds/refusal.ts';
import { escapeText } from '../embeds/text.ts';
import { localized } from '../locales/localization.ts';
import type { Command, CommandDeps, CommandOptions, Invoker } from './command.ts';
import { completeServer, findServer, MAX_PLAYERS } from './server.ts';

/**
 * `/notify on server players`, `/notify off server?`: a direct message when a server has that many players; for everyone,
 * only about themselves.
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
      .addSubcommand((subcommand) =>
        localized(subcommand, ({ notify }) => notify.off).addStringOption((option) =>
          localized(option, ({ notify }) => notify.off.options.server).setAutocomplete(true),
        ),
      )
      .toJSON(),
  execute: (deps, invoker, options) => ({
    kind: 'ephemeral',
    render: () => {
      if (options.subcommand !== 'on') return switchOff(deps, invoker, findServerId(deps, options));
      return switchOn(deps, invoker, options);
    },
  }),
  autocomplete: (deps, { localization }, { text }) => completeServer(deps, text, localization.texts),
  components: {
    'notify.off': (deps, invoker, { args: [serverId] }) => ({
      kind: 'ephemeral',
      render: () => {
        const id = tryParsePositive(serverId);
        if (id === undefined) throw new Refusal(({ refusals }) => refusals.outdated);
        return switchOff(deps, invoker, id);
      },
    }),
  },
};

async function switchOn(
  deps: CommandDeps,
  { discordId, localization, locale }: Invoker,
  { server: name = '', players = 1 }: CommandOptions,
): Promise<MessageView> {
  const server = findServer(deps, name.trim());
  const isReached = server.playersCount >= players;
  const isSaved = await saveNotification(deps.db, {
    discordId,
    serverId: server.id,
    playersAtLeast: players,
    locale,
    isArmed: !isReached,
  });
  if (!isSaved) throw new Refusal(({ notify }) => notify.tooMany(MAX_NOTIFICATIONS));
  const { texts } = localization;
  const { notify: words } = texts;
  const off = deps.mention('notify off', texts);
  const text = words.on({ server: `**${escapeText(server.name, { max: 64 })}**`, players, off });
  return done([text, ...(isReached ? [words.reachedAlready] : [])].join('\n'));
}

/** @returns the id of the server that an option names; undefined without it. */
function findServerId(deps: CommandDeps, { server }: CommandOptions): number | undefined {
  const name = server?.trim();
  return name ? findServer(deps, name).id : undefined;
}

async function switchOff(
  { db }: CommandDeps,
  { discordId, localization }: Invoker,
  serverId: number | undefined,
): Promise<MessageView> {
  const { notify: words } = localization.texts;
  const removed = await removeNotifications(db, discordId, serverId);
  return removed === 0 ? noticeMessage(words.none, COLOURS.neutral) : done(words.off(removed));
}

function done(text: string): MessageView {
  return noticeMessage(`🔔 ${text}`, COLOURS.online);
}
