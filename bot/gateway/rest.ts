import { RateLimitError, REST, DiscordAPIError as RestAPIError } from '@discordjs/rest';
import { DiscordAPIError, RESTJSONErrorCodes, Routes } from 'discord.js';
import { InvalidInput, LimitReached, Unavailable } from '../../src/domain/errors.ts';

/** Outside of channels, longer rate limits are errors, so that callers can say why nothing happens. */
const MAX_LIMIT_MS = 10_000;

/**
 * A client of Discord's REST API outside of interactions. It waits for rate limits; for those over
 * {@link MAX_LIMIT_MS} only in channels.
 * @param apiUrl `DISCORD_API_URL`.
 */
export function createRest({ apiUrl, token }: { apiUrl: string; token: string }): REST {
  return new LastingRest({
    api: apiUrl,
    version: '10',
    timeout: 10_000,
    retries: 2,
    rejectOnRateLimit: ({ route, retryAfter }) => retryAfter > MAX_LIMIT_MS && !route.startsWith('/channels'),
  }).setToken(token);
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

/**
 * The bot's own application; public means that anybody may add it to a guild of their own.
 * @throws {Unavailable} for a response without an id · what the REST client throws.
 * @see https://docs.discord.com/developers/resources/application#application-object
 */
export async function readApplication(rest: REST): Promise<{ applicationId: string; isPublic: boolean }> {
  const application = await rest.get(Routes.currentApplication());
  if (typeof application !== 'object' || application === null || !('id' in application)) {
    throw new Unavailable("Discord's response lacks the id of the application");
  }
  return {
    applicationId: String(application.id),
    isPublic: !('bot_public' in application && application.bot_public === false),
  };
}

/** The error for an operator whose request Discord refused, or who cannot reach it. */
export function toDiscordFailure(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Unavailable) return error;
  if (error instanceof RateLimitError) {
    const seconds = Math.ceil(error.retryAfter / 1000);
    const time = seconds > 90 ? `${Math.round(seconds / 60)} minutes` : `${seconds} seconds`;
    return new LimitReached(`Discord allows no further requests of this kind for ${time}`, seconds);
  }
  if ('status' in error && error.status === 401) {
    const message = 'Discord rejected DISCORD_TOKEN: copy the token from the developer portal again';
    return new InvalidInput(message, { cause: error });
  }
  if (isDiscordRefusal(error) && error.status < 500) {
    const hint = isDiscordError(error, RESTJSONErrorCodes.MissingAccess)
      ? ': invite the application to the guild of DISCORD_GUILD_ID first'
      : '';
    return new InvalidInput(`Discord rejected the request (${error.message})${hint}`, { cause: error });
  }
  if ('code' in error || 'status' in error || error.name === 'AbortError') {
    return new Unavailable(`Discord cannot be reached (${error.message})`, { cause: error });
  }
  return error;
}
