import {
  type AutocompleteInteraction,
  type ButtonInteraction,
  type ChatInputCommandInteraction,
  MessageFlags,
  PermissionFlagsBits,
  type StringSelectMenuInteraction,
  type UserContextMenuCommandInteraction,
} from 'discord.js';
import type { CommandOptions, ComponentPress, Invoker } from './command.ts';
import { parseCustomId } from './custom-id.ts';
import { localizationOf } from './locales/localization.ts';
import type { ModeratorRule } from './moderators.ts';

export type CommandInteraction = ChatInputCommandInteraction | UserContextMenuCommandInteraction;
export type ComponentInteraction = ButtonInteraction | StringSelectMenuInteraction;
/** What gets a message in response, now or after it was deferred. */
export type DeferrableInteraction = CommandInteraction | ComponentInteraction;

/**
 * Who caused an interaction, by what Discord says in it.
 * @param moderators where Discord's permissions make moderators.
 */
export function toInvoker(
  interaction: DeferrableInteraction | AutocompleteInteraction,
  moderators: Pick<ModeratorRule, 'holdsIn'>,
): Invoker {
  const { user, guildId, memberPermissions, locale, guildLocale, appPermissions } = interaction;
  const hasPermission = memberPermissions?.has(PermissionFlagsBits.ModerateMembers) ?? false;
  const sending = interaction.channel?.isThread()
    ? PermissionFlagsBits.SendMessagesInThreads
    : PermissionFlagsBits.SendMessages;
  return {
    discordId: user.id,
    canModerateMembers: hasPermission && moderators.holdsIn(guildId),
    guildId: guildId ?? undefined,
    channelId: interaction.channelId ?? '',
    botCanPost: appPermissions.has([
      PermissionFlagsBits.ViewChannel,
      sending,
      PermissionFlagsBits.EmbedLinks,
    ]),
    localization: localizationOf(locale),
    guildLocalization: localizationOf(guildLocale ?? locale),
  };
}

/** The options of a command; the user of a menu entry is the option `user`. */
export function toCommandOptions(interaction: CommandInteraction): CommandOptions {
  const strings: Record<string, string> = {};
  const booleans: Record<string, boolean> = {};
  const users: Record<string, string> = {};
  if (interaction.isUserContextMenuCommand()) {
    users.user = interaction.targetId;
  } else {
    for (const { name, value, user } of interaction.options.data) {
      if (user) users[name] = user.id;
      else if (typeof value === 'string') strings[name] = value;
      else if (typeof value === 'boolean') booleans[name] = value;
    }
  }
  return { strings, booleans, users };
}

/** What was pressed or chosen, without the component's name. */
export function toComponentPress(interaction: ComponentInteraction): ComponentPress {
  return {
    args: parseCustomId(interaction.customId).args,
    values: interaction.isStringSelectMenu() ? interaction.values : [],
    messageOwnerId: interaction.message.interactionMetadata?.user.id,
    isEphemeral: interaction.message.flags?.has(MessageFlags.Ephemeral) ?? false,
  };
}

/** The name of the command or component, for the log. */
export function nameOf(interaction: DeferrableInteraction): string {
  return interaction.isCommand() ? interaction.commandName : parseCustomId(interaction.customId).name;
}
