import { PermissionFlagsBits } from 'discord.js';

/** What makes a member a moderator: "Timeout Members" in Discord's settings, `MODERATE_MEMBERS` in its API. */
export const MODERATOR_PERMISSION = PermissionFlagsBits.ModerateMembers;
/** What lets a member manage feeds: "Manage Server" in Discord's settings, `MANAGE_GUILD` in its API. */
export const MANAGER_PERMISSION = PermissionFlagsBits.ManageGuild;
/** What the bot needs in the channels of live status messages and feeds. Commands need no permission. */
const CHANNEL_PERMISSIONS =
  PermissionFlagsBits.ViewChannel |
  PermissionFlagsBits.SendMessages |
  PermissionFlagsBits.SendMessagesInThreads |
  PermissionFlagsBits.EmbedLinks;

/** What the invitation asks for: Manage Roles only where roles are to be given. */
export function botPermissions({ givesRoles }: { givesRoles: boolean }): bigint {
  return givesRoles ? CHANNEL_PERMISSIONS | PermissionFlagsBits.ManageRoles : CHANNEL_PERMISSIONS;
}
