import { DiscordAPIError as RestAPIError } from '@discordjs/rest';
import { DiscordAPIError, type RESTJSONErrorCodes } from 'discord.js';

/** Whether Discord's REST API refused a request with one of these error codes. */
export function isDiscordError(
  error: unknown,
  ...codes: readonly RESTJSONErrorCodes[]
): error is DiscordAPIError {
  return isDiscordAPIError(error) && codes.some((code) => code === error.code);
}

/** Two classes: discord.js loads the CommonJS build of @discordjs/rest, our import the ES module. */
function isDiscordAPIError(error: unknown): error is DiscordAPIError {
  return error instanceof DiscordAPIError || error instanceof RestAPIError;
}
