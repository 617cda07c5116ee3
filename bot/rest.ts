import { REST, DiscordAPIError as RestAPIError } from '@discordjs/rest';
import { DiscordAPIError, type RESTJSONErrorCodes } from 'discord.js';

/**
 * A client of Discord's REST API outside of interactions.
 * @param apiUrl `DISCORD_API_URL`.
 */
export function createRest({ apiUrl, token }: { apiUrl: string; token: string }): REST {
  return new LastingRest({ api: apiUrl, version: '10', timeout: 10_000, retries: 2 }).setToken(token);
}

/** The library forgets the token at the first 401, after which no request would be sent; a wrong 401 must not last. */
class LastingRest extends REST {
  #token = '';

  override setToken(token: string | null): this {
    this.#token = token ?? this.#token;
    return super.setToken(this.#token);
  }
}

/** Whether Discord's REST API refused a request with one of these error codes. */
export function isDiscordError(
  error: unknown,
  ...codes: readonly RESTJSONErrorCodes[]
): error is DiscordAPIError {
  return isDiscordRefusal(error) && codes.some((code) => code === error.code);
}

/**
 * Whether Discord's REST API refused a request. The class exists twice: discord.js loads the CommonJS build of
 * @discordjs/rest, our import the ES module.
 */
export function isDiscordRefusal(error: unknown): error is DiscordAPIError {
  return error instanceof DiscordAPIError || error instanceof RestAPIError;
}
