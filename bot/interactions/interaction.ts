import {
  ApplicationCommandOptionType,
  type AutocompleteInteraction,
  type ButtonInteraction,
  type ChatInputCommandInteraction,
  MessageFlags,
  PermissionFlagsBits,
  PermissionsBitField,
  type StringSelectMenuInteraction,
  type UserContextMenuCommandInteraction,
} from 'discord.js';
import type { CommandOptions, ComponentPress, Invoker } from '../commands/command.ts';
import type { BotContext } from '../context.ts';
import { parseCustomId } from '../embeds/custom-id.ts';
import { MANAGER_PERMISSION, MODERATOR_PERMISSION, type ModeratorRule } from '../gateway/moderators.ts';
import type { InteractionPlace } from '../gateway/session.ts';
import type { BotPermission } from '../locales/en.ts';
import { localizationOf } from '../locales/localization.ts';

type CommandInteraction = ChatInputCommandInteraction | UserContextMenuCommandInteraction;
type ComponentInteraction = ButtonInteraction | StringSelectMenuInteraction;
/** Interactions that get a message as their response; they can be deferred. */
export type DeferrableInteraction = CommandInteraction | ComponentInteraction;

/**
 * Who caused an interaction, read from the interaction itself.
 * @param deps.moderators in which guilds Discord's permissions make moderators.
 * @param place.isThread whether it was caused in a thread.
 */
export function toInvoker(
  interaction: DeferrableInteraction | AutocompleteInteraction,
  {
    moderators,
    localizeGuild,
  }: Pick<BotContext, 'localizeGuild'> & { moderators: Pick<ModeratorRule, 'holdsIn' | 'objection'> },
  { isThread }: Pick<InteractionPlace, 'isThread'>,
): Invoker {
  const { user, guildId, memberPermissions, locale, guildLocale, appPermissions } = interaction;
  const recognisesModerators = moderators.holdsIn(guildId);
  const canModerateMembers = memberPermissions?.has(MODERATOR_PERMISSION) === true;
  const canManageGuild = memberPermissions?.has(MANAGER_PERMISSION) === true;
  return {
    discordId: user.id,
    canModerateMembers: recognisesModerators && canModerateMembers,
    canManageGuild: recognisesModerators && canManageGuild,
    isUnrecognised:
      guildId !== null && moderators.objection() !== undefined && (canModerateMembers || canManageGuild),
    guildId: guildId ?? undefined,
    channelId: interaction.channelId ?? '',
    isInThread: isThread,
    botLacks: neededPermissions(isThread)
      .filter(([, bit]) => !appPermissions.has(bit))
      .map(([name]) => name),
    canMentionRoles: memberPermissions?.has(PermissionFlagsBits.MentionEveryone) === true,
    botCanMentionRoles: appPermissions.has(PermissionFlagsBits.MentionEveryone),
    localization: localizationOf(locale),
    locale,
    guildLocalization: guildLocale ? localizeGuild(guildLocale) : localizationOf(locale),
    guildLocale: guildLocale ?? locale,
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
export function toCommandOptions(
  interaction: CommandInteraction,
  { channels }: InteractionPlace,
): CommandOptions {
  if (interaction.isUserContextMenuCommand()) return { user: interaction.targetId };
  const [first] = interaction.options.data;
  const isSubcommand = first?.type === ApplicationCommandOptionType.Subcommand;
  const options = isSubcommand ? (first.options ?? []) : interaction.options.data;
  const values = options.map(({ name, type, value, role }) => {
    if (role) return [name, { id: role.id, isMentionable: role.mentionable }];
    if (type !== ApplicationCommandOptionType.Channel) return [name, value];
    const id = String(value);
    const permissions = new PermissionsBitField(BigInt(channels[id]?.permissions ?? 0));
    return [name, { id, canMentionRoles: permissions.has(PermissionFlagsBits.MentionEveryone) }];
  });
  return { ...Object.fromEntries(values), ...(isSubcommand && { subcommand: first.name }) };
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
