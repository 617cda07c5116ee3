import type { REST } from '@discordjs/rest';
import { OAuth2Scopes, PermissionFlagsBits } from 'discord.js';
import type { Config } from '../../src/runtime/config.ts';
import { readApplication, toDiscordFailure } from './rest.ts';

type Settings = Pick<Config['discord'], 'guildId' | 'roles'>;

/** What the bot needs in the channels of live status messages and feeds. Commands need no permission. */
const CHANNEL_PERMISSIONS =
  PermissionFlagsBits.ViewChannel |
  PermissionFlagsBits.SendMessages |
  PermissionFlagsBits.SendMessagesInThreads |
  PermissionFlagsBits.EmbedLinks;

/**
 * The address at which an admin of a guild adds the bot, with the permissions that the configured features need.
 * @param settings.guildId the guild to preselect.
 */
export function invitationTo({
  applicationId,
  guildId,
  roles,
}: Settings & { applicationId: string }): string {
  const givesRoles = roles !== undefined && roles.gives.length > 0;
  const permissions = CHANNEL_PERMISSIONS | (givesRoles ? PermissionFlagsBits.ManageRoles : 0n);
  const url = new URL('https://discord.com/oauth2/authorize');
  url.search = String(
    new URLSearchParams({
      client_id: applicationId,
      scope: `${OAuth2Scopes.Bot} ${OAuth2Scopes.ApplicationsCommands}`,
      permissions: String(permissions),
      ...(guildId !== undefined && { guild_id: guildId }),
    }),
  );
  return url.href;
}

/**
 * Asks Discord for the application of the bot's token, and builds its invitation.
 * @throws {InvalidInput} when Discord rejects the token · {Unavailable} when it cannot be reached.
 */
export async function findInvitation(rest: REST, settings: Settings): Promise<string> {
  try {
    const { applicationId } = await readApplication(rest);
    return invitationTo({ ...settings, applicationId });
  } catch (error) {
    throw toDiscordFailure(error);
  }
}
