import {
  ActivityType,
  type APIInteractionDataResolvedChannel,
  type APIInteractionGuildMember,
  ChannelType,
  Client,
  DiscordjsErrorCodes,
  Events,
  GatewayCloseCodes,
  GatewayDispatchEvents,
  type GatewayDispatchPayload,
  type Interaction,
  Options,
  SimpleShardingStrategy,
  Status,
} from 'discord.js';
import type { Logger } from 'pino';
import { withTimeLimit } from '../../src/runtime/time-limit.ts';
import type { Timings } from '../timings.ts';
import { isRateLimited, type RestRequests } from './rest.ts';

/** Data from the raw packet of an interaction: the library does not cache the channels and roles of guilds. */
export type InteractionPlace = {
  isThread: boolean;
  /** By id: the channels that its options name, with the sender's permissions there. */
  channels: Readonly<Record<string, Pick<APIInteractionDataResolvedChannel, 'permissions'>>>;
};

export type SessionDeps = {
  token: string;
  apiUrl: string;
  log: Logger;
  timings: Timings;
  requests: RestRequests;
  onInteraction: (interaction: Interaction, place: InteractionPlace) => void;
  /** Whoever sent an interaction in a guild, as a member of it. */
  onMember?: ((guildId: string, discordId: string, member: APIInteractionGuildMember) => void) | undefined;
  /** The login succeeded; once in a session. `guildIds`: the guilds that the bot is in. */
  onLogin: (bot: { applicationId: string; userId: string; guildIds: string[] }) => void;
  /** Connected: after the login, and after each resume. */
  onReady: () => void;
  /** The connection broke, and the library tries to resume it. */
  onResuming: () => void;
};

/** How a session ended. After a final end, do not retry; after any other, retry after `retryAfterMs`. */
type SessionEnd = { isFinal: boolean; reason: string; wasReady: boolean; retryAfterMs: number };

/** One client, from its login until it is discarded. */
export type GatewaySession = {
  ended: Promise<SessionEnd>;
  /** Disconnects; within half a second. */
  close: () => Promise<void>;
  isReady: () => boolean;
  /** Shows a text under the bot's name; false while the bot is not connected. */
  showStatus: (text: string) => boolean;
};

/** If the connection broke more often, reconnecting would use up the 1000 logins that Discord allows a day. */
const MAX_BREAKS_PER_MINUTE = 5;
const DESTROY_WITHIN_MS = 500;
const THREADS = [ChannelType.AnnouncementThread, ChannelType.PublicThread, ChannelType.PrivateThread];
/** A close code says more than the error of the login, and may arrive a moment after it. */
const CLOSE_CODE_WITHIN_MS = 50;
/** Close codes after which Discord's documentation says not to reconnect. */
const FINAL_CLOSE_CODES: Record<number, string> = {
  [GatewayCloseCodes.AuthenticationFailed]: 'the token is no longer valid (4004): set a new DISCORD_TOKEN',
  [GatewayCloseCodes.InvalidShard]: 'Discord rejected the shard (4010)',
  [GatewayCloseCodes.ShardingRequired]: 'Discord requires sharding (4011): the bot is in too many guilds',
  [GatewayCloseCodes.InvalidAPIVersion]: 'Discord no longer supports this API version (4012): update',
  [GatewayCloseCodes.InvalidIntents]: 'Discord rejected the intents as invalid (4013)',
  [GatewayCloseCodes.DisallowedIntents]: 'Discord does not allow the intents (4014)',
};

/** Logs in a new client, and keeps it until its connection is lost and cannot be resumed. */
export function openSession(deps: SessionDeps): GatewaySession {
  const { log, timings } = deps;
  const ended = Promise.withResolvers<SessionEnd>();
  const recentBreaks: number[] = [];
  let wasReady = false;
  let isClosed = false;
  let resumeTimer: ReturnType<typeof setTimeout> | undefined;
  const end = (reason: string, { isFinal = false, retryAfterMs = 0 } = {}) =>
    ended.resolve({ isFinal, reason, wasReady, retryAfterMs });
  const readyTimer = setTimeout(() => end('the login to Discord timed out'), timings.readyWithinMs);
  const client = createClient(deps, () => isClosed);

  const enterReady = () => {
    clearTimeout(readyTimer);
    clearTimeout(resumeTimer);
    resumeTimer = undefined;
    deps.onReady();
  };
  /** By interaction. */
  const places = new Map<string, InteractionPlace>();
  client.on(Events.Raw, (packet: GatewayDispatchPayload) => {
    if (packet.t !== GatewayDispatchEvents.InteractionCreate) return;
    const { id, channel, data, guild_id: guildId, member } = packet.d;
    const resolved = data && 'resolved' in data ? data.resolved : undefined;
    const channels = (resolved && 'channels' in resolved && resolved.channels) || {};
    places.set(id, { isThread: THREADS.some((type) => type === channel?.type), channels });
    if (guildId && member) deps.onMember?.(guildId, member.user.id, member);
  });
  client.on(Events.InteractionCreate, (interaction) => {
    deps.onInteraction(interaction, places.get(interaction.id) ?? { isThread: false, channels: {} });
    places.delete(interaction.id);
    // The library caches a channel for each user who has ever written to the bot, and nothing reads these.
    if (!interaction.inGuild() && interaction.channelId) client.channels.cache.delete(interaction.channelId);
  });
  client.on(Events.ClientReady, ({ application, user, guilds }) => {
    wasReady = true;
    enterReady();
    deps.onLogin({ applicationId: application.id, userId: user.id, guildIds: [...guilds.cache.keys()] });
  });
  client.on(Events.ShardReady, () => wasReady && enterReady());
  client.on(Events.ShardResume, enterReady);
  client.on(Events.ShardReconnecting, () => {
    if (!wasReady) return end('the connection broke during the login');
    const now = performance.now();
    recentBreaks.push(now);
    if (recentBreaks.filter((at) => now - at < 60_000).length > MAX_BREAKS_PER_MINUTE) {
      return end('the connection keeps breaking');
    }
    deps.onResuming();
    resumeTimer ??= setTimeout(() => end('the connection could not be resumed'), timings.resumeWithinMs);
  });
  client.on(Events.ShardDisconnect, ({ code }) => {
    const final = FINAL_CLOSE_CODES[code];
    end(final ?? `Discord closed the connection (${code})`, { isFinal: final !== undefined });
  });
  client.on(Events.Invalidated, () => end('Discord invalidated the session'));
  // Without listeners an error would end the process, and the API with it.
  client.on(Events.Error, (error) => log.debug({ err: error }, 'error event of discord.js'));
  client.on(Events.ShardError, (error) => log.debug({ err: error }, 'error event of the gateway connection'));

  client.login(deps.token).catch((error) => {
    const isFinal =
      error instanceof Error && 'code' in error && error.code === DiscordjsErrorCodes.TokenInvalid;
    const retryAfterMs = isRateLimited(error) ? error.retryAfter : 0;
    const reason = isFinal
      ? 'the token is not valid: set a new DISCORD_TOKEN'
      : `Discord cannot be reached (${error instanceof Error ? error.message : String(error)})`;
    setTimeout(() => end(reason, { isFinal, retryAfterMs }), CLOSE_CODE_WITHIN_MS);
  });

  // After a final close code `client.isReady()` stays true, whereas the shard's status is correct.
  const isReady = () => client.ws.shards.first()?.status === Status.Ready;
  return {
    ended: ended.promise,
    close: async () => {
      isClosed = true;
      end('closed');
      clearTimeout(readyTimer);
      clearTimeout(resumeTimer);
      client.removeAllListeners();
      client.on(Events.Error, () => undefined);
      // Between Identify and READY this never resolves.
      await withTimeLimit(client.destroy(), DESTROY_WITHIN_MS).catch(() => undefined);
    },
    isReady,
    showStatus: (text) => {
      if (isReady()) client.user?.setActivity({ name: text, type: ActivityType.Custom });
      return isReady();
    },
  };
}

/**
 * A client without intents and almost without cache: interactions need no intents and carry all data that is used.
 * @param isAbandoned whether the client has been discarded: it must not connect again.
 */
function createClient(
  { apiUrl, log, requests }: Pick<SessionDeps, 'apiUrl' | 'log' | 'requests'>,
  isAbandoned: () => boolean,
): Client {
  const onlyItself = {
    maxSize: 1,
    keepOverLimit: ({ id, client }: { id: string; client: Client }) => id === client.user?.id,
  };
  return new Client({
    intents: [],
    allowedMentions: { parse: [] },
    // Every deferred response leaves a queue in the REST client: sweep them every minute.
    rest: { ...requests.options, api: apiUrl, timeout: 10_000, retries: 1, handlerSweepInterval: 60_000 },
    waitGuildTimeout: 0,
    // Only interactions fill caches, as the bot gets no other events.
    makeCache: Options.cacheWithLimits({
      GuildMemberManager: onlyItself,
      MessageManager: 0,
      PresenceManager: 0,
      ReactionManager: 0,
      ThreadManager: 0,
      UserManager: onlyItself,
      VoiceStateManager: 0,
    }),
    ws: {
      buildStrategy: (manager) => {
        // A shard that is waiting when its client is destroyed connects once more, unless it waits for its session forever.
        const { retrieveSessionInfo } = manager.options;
        manager.options.retrieveSessionInfo = (shardId) =>
          isAbandoned() ? new Promise<never>(() => undefined) : retrieveSessionInfo(shardId);
        // The library throws on a malformed event inside the socket's listener, which would end the process.
        const emit = manager.emit.bind(manager);
        manager.emit = (...event: Parameters<typeof emit>) => {
          try {
            return emit(...event);
          } catch (error) {
            log.warn({ err: error }, 'ignored a malformed event from Discord');
            return false;
          }
        };
        return new SimpleShardingStrategy(manager);
      },
    },
  });
}
