import { PermissionFlagsBits } from 'discord.js';

/** What makes a member a moderator: "Timeout Members" in Discord's settings, `MODERATE_MEMBERS` in its API. */
export const MODERATOR_PERMISSION = PermissionFlagsBits.ModerateMembers;
/** What lets a member manage feeds: "Manage Server" in Discord's settings, `MANAGE_GUILD` in its API. */
export const MANAGER_PERMISSION = PermissionFlagsBits.ManageGuild;
