import type { REST } from '@discordjs/rest';
import { OAuth2Scopes } from 'discord.js';
import { BOT_PERMISSIONS } from './permissions.ts';
import { readApplication, toDiscordFailure } from './register.ts';

/**
 * The address at which an admin of a guild adds the bot, with the permissions that live status messages and feeds need.
 * @param guildId the guild to preselect.
 */
export function invitationTo({
  applicationId,
  guildId,
}: {
  applicationId: string;
  guildId: string | undefined;
}): string {
  const url = new URL('https://discord.com/oauth2/authorize');
  url.search = String(
    new URLSearchParams({
      client_id: applicationId,
      scope: `${OAuth2Scopes.Bot} ${OAuth2Scopes.ApplicationsCommands}`,
      permissions: String(BOT_PERMISSIONS),
      ...(guildId !== undefined && { guild_id: guildId }),
    }),
  );
  return url.href;
}

/**
 * Asks Discord for the application of the bot's token, and builds its invitation.
 * @throws {InvalidInput} when Discord rejects the token · {Unavailable} when it cannot be reached.
 */
export async function findInvitation(rest: REST, guildId: string | undefined): Promise<string> {
  try {
    const { applicationId } = await readApplication(rest);
    return invitationTo({ applicationId, guildId });
  } catch (error) {
    throw toDiscordFailure(error);
  }
}
