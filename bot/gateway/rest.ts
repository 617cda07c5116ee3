import {
  DefaultRestOptions,
  type RateLimitData,
  RateLimitError,
  REST,
  type RESTOptions,
  DiscordAPIError as RestAPIError,
} from '@discordjs/rest';
import {
  DiscordAPIError,
  RateLimitError as GatewayRateLimitError,
  RESTJSONErrorCodes,
  Routes,
} from 'discord.js';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { InvalidInput, LimitReached, Unavailable } from '../../src/domain/errors.ts';
import { TIMINGS } from '../timings.ts';

/** How every client sends requests to Discord's REST API. */
export type RestRequests = {
  /** Options of every client. */
  options: Pick<RESTOptions, 'makeRequest'> & { rejectOnRateLimit: (limit: RateLimitData) => boolean };
  /** Why requests pause without a duration from Discord; undefined: they do not pause. */
  limitedBecause: () => string | undefined;
};

/** Longer rate limits are errors, so that callers can say why nothing happens. */
const MAX_LIMIT_MS = 10_000;
/** Discord accepts a response to an interaction for three seconds, and edits of it for 15 minutes. */
const RESPONSES = '/interactions/';
const RESPONDS_WITHIN_MS = 3000;
const EDITS = '/webhooks/';
const EDITS_WITHIN_MS = 15 * 60_000;
/** The number of interactions whose deadlines are remembered. */
const MAX_INTERACTIONS = 5000;
/** Node's timers fire at once beyond this. */
const MAX_TIMER_S = 2 ** 31 / 1000 - 1;

/**
 * Requests that respect Discord's rate limits. `@discordjs/rest` treats a 429 without a usable `Retry-After`, such as
 * one of Cloudflare's, as 0 seconds and repeats the request at once: Discord bans an address after 10,000 such
 * responses in ten minutes. Here such a response causes a pause of `pauseMs`.
 * @see https://docs.discord.com/developers/topics/rate-limits#invalid-request-limit-aka-cloudflare-bans
 */
export function createRequests({
  log,
  pauseMs = TIMINGS.unnamedLimitMs,
}: {
  log?: Pick<Logger, 'info' | 'warn'>;
  pauseMs?: number;
} = {}): RestRequests {
  /** When the requests of interactions are given up, by their address; in milliseconds of `performance.now()`. */
  const deadlinesMs = new LRUCache<string, number>({ max: MAX_INTERACTIONS, ttl: EDITS_WITHIN_MS });
  let limitedAtMs: number | undefined;

  return {
    options: {
      makeRequest: async (url, init) => {
        const response = await DefaultRestOptions.makeRequest(url, init);
        const seconds = Number(response.headers.get('Retry-After'));
        const nowMs = performance.now();
        if (response.status !== 429 || (seconds > 0 && seconds < MAX_TIMER_S)) {
          if (limitedAtMs !== undefined && nowMs - limitedAtMs > pauseMs) {
            limitedAtMs = undefined;
            log?.info('Discord accepts requests again');
          }
          return response;
        }
        if (limitedAtMs === undefined) {
          log?.warn({ pauseMs }, 'Discord limits requests without saying for how long: they wait');
        }
        limitedAtMs = nowMs;
        const headers = new Headers([...response.headers]);
        headers.set('Retry-After', String(pauseMs / 1000));
        return new Response(await response.text(), { status: 429, headers });
      },
      rejectOnRateLimit: ({ route, url, retryAfter }) => {
        // The next login waits instead: the client of each attempt would repeat the request.
        if (route === Routes.gatewayBot()) return true;
        if (!isOfInteraction(route)) return retryAfter > MAX_LIMIT_MS;
        const nowMs = performance.now();
        const acceptedForMs = route.startsWith(RESPONSES) ? RESPONDS_WITHIN_MS : EDITS_WITHIN_MS;
        const deadlineMs = deadlinesMs.get(url) ?? nowMs + acceptedForMs;
        deadlinesMs.set(url, deadlineMs);
        return nowMs + retryAfter > deadlineMs;
      },
    },
    limitedBecause: () =>
      limitedAtMs === undefined
        ? undefined
        : `Discord limits requests (429) without saying for how long: each is sent again after ${pauseMs / 1000} seconds`,
  };
}

/** Whether a route is that of a response to an interaction, or of its edits. */
export function isOfInteraction(route: string): boolean {
  return route.startsWith(RESPONSES) || route.startsWith(EDITS);
}

/**
 * A client of Discord's REST API outside of interactions.
 * @param apiUrl `DISCORD_API_URL`.
 * @param waitsInChannels whether requests about channels wait for every rate limit, however long.
 */
export function createRest({
  apiUrl,
  token,
  requests: { options } = createRequests(),
  waitsInChannels = true,
}: {
  apiUrl: string;
  token: string;
  requests?: RestRequests;
  waitsInChannels?: boolean;
}): REST {
  return new LastingRest({
    ...options,
    rejectOnRateLimit: (limit) =>
      !(waitsInChannels && limit.route.startsWith('/channels/')) && options.rejectOnRateLimit(limit),
    api: apiUrl,
    version: '10',
    timeout: 10_000,
    retries: 2,
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

/** Whether a request failed by Discord's response, rather than without any. */
export function hasStatus(error: unknown): error is Error & { status: number } {
  return error instanceof Error && 'status' in error;
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

/**
 * Whether a request was given up because of a rate limit. The class exists twice, as that of refusals does.
 */
export function isRateLimited(error: unknown): error is RateLimitError {
  return error instanceof RateLimitError || error instanceof GatewayRateLimitError;
}

/** The error for an operator whose request Discord refused, or who cannot reach it. */
export function toDiscordFailure(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Unavailable) return error;
  if (isRateLimited(error)) {
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
