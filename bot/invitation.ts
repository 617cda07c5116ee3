import type { REST } from '@discordjs/rest';
import { OAuth2Scopes } from 'discord.js';
import type { Config } from '../src/runtime/config.ts';
import { botPermissions } from './permissions.ts';
import { readApplication, toDiscordFailure } from './register.ts';

type Settings = Pick<Config['discord'], 'guildId' | 'roles'>;

/**
 * The address at which an admin of a guild adds the bot, with the permissions that the configured features need.
 * @param settings.guildId the guild to preselect.
 */
export function invitationTo({
  applicationId,
  guildId,
  roles,
}: Settings & { applicationId: string }): string {
  const url = new URL('https://discord.com/oauth2/authorize');
  url.search = String(
    new URLSearchParams({
      client_id: applicationId,
      scope: `${OAuth2Scopes.Bot} ${OAuth2Scopes.ApplicationsCommands}`,
      permissions: String(botPermissions({ givesRoles: roles !== undefined && roles.gives.length > 0 })),
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
