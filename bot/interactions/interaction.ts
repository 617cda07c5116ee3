import {
  ApplicationCommandOptionType,
  type AutocompleteInteraction,
  type ButtonInteraction,
  type ChatInputCommandInteraction,
  MessageFlags,
  PermissionFlagsBits,
  type StringSelectMenuInteraction,
  type UserContextMenuCommandInteraction,
} from 'discord.js';
import type { ChosenRole, CommandOptions, ComponentPress, Invoker } from '../command.ts';
import type { BotPermission } from '../locales/en.ts';
import { localizationOf } from '../locales/localization.ts';
import type { ModeratorRule } from '../moderators.ts';
import { MANAGER_PERMISSION, MODERATOR_PERMISSION } from '../permissions.ts';
import { parseCustomId } from './custom-id.ts';

export type CommandInteraction = ChatInputCommandInteraction | UserContextMenuCommandInteraction;
export type ComponentInteraction = ButtonInteraction | StringSelectMenuInteraction;
/** Interactions that get a message as their response; they can be deferred. */
export type DeferrableInteraction = CommandInteraction | ComponentInteraction;

/**
 * Who caused an interaction, read from the interaction itself.
 * @param moderators in which guilds Discord's permissions make moderators.
 * @param place.isThread whether it was caused in a thread.
 */
export function toInvoker(
  interaction: DeferrableInteraction | AutocompleteInteraction,
  moderators: Pick<ModeratorRule, 'holdsIn'>,
  { isThread }: { isThread: boolean },
): Invoker {
  const { user, guildId, memberPermissions, locale, guildLocale, appPermissions } = interaction;
  const recognisesModerators = moderators.holdsIn(guildId);
  return {
    discordId: user.id,
    canModerateMembers: recognisesModerators && memberPermissions?.has(MODERATOR_PERMISSION) === true,
    canManageGuild: recognisesModerators && memberPermissions?.has(MANAGER_PERMISSION) === true,
    guildId: guildId ?? undefined,
    channelId: interaction.channelId ?? '',
    botLacks: neededPermissions(isThread)
      .filter(([, bit]) => !appPermissions.has(bit))
      .map(([name]) => name),
    botCanMentionRoles: appPermissions.has(PermissionFlagsBits.MentionEveryone),
    localization: localizationOf(locale),
    guildLocalization: localizationOf(guildLocale ?? locale),
  };
}

/** The permissions needed to send messages with embeds. */
function neededPermissions(isThread: boolean): [BotPermission, bigint][] {
  return [
    ['viewChannel', PermissionFlagsBits.ViewChannel],
    isThread
      ? ['sendMessagesInThreads', PermissionFlagsBits.SendMessagesInThreads]
      : ['sendMessages', PermissionFlagsBits.SendMessages],
    ['embedLinks', PermissionFlagsBits.EmbedLinks],
  ];
}

/** The options of a command or of its subcommand; the user of a context menu is the option `user`. */
export function toCommandOptions(interaction: CommandInteraction): CommandOptions {
  const strings: Record<string, string> = {};
  const booleans: Record<string, boolean> = {};
  const users: Record<string, string> = {};
  const numbers: Record<string, number> = {};
  const roles: Record<string, ChosenRole> = {};
  let subcommand: string | undefined;
  if (interaction.isUserContextMenuCommand()) {
    users.user = interaction.targetId;
  } else {
    const [first] = interaction.options.data;
    const isSubcommand = first?.type === ApplicationCommandOptionType.Subcommand;
    if (isSubcommand) subcommand = first.name;
    const options = isSubcommand ? (first.options ?? []) : interaction.options.data;
    for (const { name, value, user, role } of options) {
      if (user) users[name] = user.id;
      else if (role) roles[name] = { id: role.id, isMentionable: role.mentionable };
      else if (typeof value === 'number') numbers[name] = value;
      else if (typeof value === 'string') strings[name] = value;
      else if (typeof value === 'boolean') booleans[name] = value;
    }
  }
  return { subcommand, strings, booleans, users, numbers, roles };
}

/** A component press, without the component's name. */
export function toComponentPress(interaction: ComponentInteraction): ComponentPress {
  return {
    args: parseCustomId(interaction.customId).args,
    values: interaction.isStringSelectMenu() ? interaction.values : [],
    messageId: interaction.message.id,
    messageOwnerId: interaction.message.interactionMetadata?.user.id,
    isEphemeral: interaction.message.flags?.has(MessageFlags.Ephemeral) ?? false,
  };
}

/** The name of the command or component, for the log. */
export function nameOf(interaction: DeferrableInteraction): string {
  return interaction.isCommand() ? interaction.commandName : parseCustomId(interaction.customId).name;
}
