import { setTimeout as pause } from 'node:timers/promises';
import {
  Client,
  DiscordjsErrorCodes,
  Events,
  GatewayCloseCodes,
  type Interaction,
  Options,
  SimpleShardingStrategy,
  Status,
} from 'discord.js';
import type { Logger } from 'pino';
import { retryPauseMs } from '../src/retry-pause.ts';
import { withTimeLimit } from '../src/time-limit.ts';

export type ConnectionState =
  /** Logging in. */
  | 'connecting'
  | 'ready'
  /** The connection broke; the library tries to resume it. */
  | 'resuming'
  /** Between two attempts to log in. */
  | 'waiting'
  /** Discord said no for good: nothing is tried until a restart. */
  | 'refused'
  | 'stopped';

export type ConnectionHealth = {
  state: ConnectionState;
  /** Why it is not ready. */
  reason: string | undefined;
  /** When this state began. */
  since: Date;
  /** Between a heartbeat and its answer; undefined while there is none. */
  latencyMs: number | undefined;
  /** Logins tried since the start. */
  logins: number;
};

export type ConnectionTimings = {
  /** The first pause between two logins; each next one is twice as long. */
  firstPauseMs: number;
  longestPauseMs: number;
  /** The library may take this long to resume, before a new client logs in. */
  resumeWithinMs: number;
  readyWithinMs: number;
};

type Deps = {
  token: string;
  apiUrl: string;
  log: Logger;
  timings: ConnectionTimings;
  onInteraction: (interaction: Interaction) => void;
  /** At every login that succeeded. */
  onReady: () => void;
};

/** How one client's life ended. */
type End = { isFinal: boolean; reason: string; wasReady: boolean };

/** A connection that lived this long was good: the pauses begin anew. */
const GOOD_AFTER_MS = 60_000;
/** More breaks than this within a minute: Discord does not want us now, and a day has 1000 identifies. */
const BREAKS_A_MINUTE = 5;
const DESTROY_WITHIN_MS = 500;
/** Close codes that only a change of settings cures. */
const FINAL_CODES: Record<number, string> = {
  [GatewayCloseCodes.AuthenticationFailed]: 'the token is not valid any more (4004): set DISCORD_TOKEN anew',
  [GatewayCloseCodes.InvalidShard]: 'Discord refuses the shard (4010)',
  [GatewayCloseCodes.ShardingRequired]: 'Discord asks for sharding (4011): the bot is in too many guilds',
  [GatewayCloseCodes.InvalidAPIVersion]: 'Discord no longer speaks this version (4012): update',
  [GatewayCloseCodes.InvalidIntents]: 'Discord calls the intents invalid (4013)',
  [GatewayCloseCodes.DisallowedIntents]: 'Discord does not allow the intents (4014)',
};

/**
 * Keeps one client connected to the gateway. A client that failed to log in never recovers, so each attempt makes a new
 * one, with growing pauses; what is final is reported once and left alone.
 */
export function createConnection(deps: Deps) {
  const { log, timings } = deps;
  let state: ConnectionState = 'connecting';
  let reason: string | undefined;
  let since = new Date();
  let logins = 0;
  let isDown = false;
  let client: Client<boolean> | undefined;
  let abandonCurrent: (() => Promise<void>) | undefined;
  const stopping = new AbortController();
  let running: Promise<void> | undefined;

  function enter(next: ConnectionState, why?: string): void {
    if (state === 'stopped') return;
    if (next !== state) since = new Date();
    state = next;
    reason = why;
    if (next === 'ready' && isDown) log.info('the bot is connected to Discord again');
    else if (next === 'ready' && logins === 1) log.info('the bot is connected to Discord');
    if (next === 'ready') isDown = false;
    if (next === 'waiting' && !isDown) {
      log.warn({ reason: why }, 'the bot lost Discord: trying again with growing pauses');
      isDown = true;
    }
    if (next === 'refused')
      log.error({ reason: why }, 'Discord refuses the bot: everything else goes on without it');
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (state !== 'stopped') {
      enter('connecting', reason);
      logins += 1;
      const startedAt = Date.now();
      const end = await liveOnce();
      if (isStopped()) return;
      if (end.isFinal) {
        enter('refused', end.reason);
        return;
      }
      const wasGood = end.wasReady && Date.now() - startedAt > GOOD_AFTER_MS;
      failures = wasGood ? 1 : failures + 1;
      enter('waiting', end.reason);
      const pauseMs = retryPauseMs(failures, {
        firstMs: timings.firstPauseMs,
        longestMs: timings.longestPauseMs,
      });
      await pause(pauseMs * (0.8 + Math.random() * 0.4), undefined, { signal: stopping.signal });
    }
  }

  /** One client from login to its end. */
  async function liveOnce(): Promise<End> {
    const life = Promise.withResolvers<End>();
    let wasReady = false;
    let isAbandoned = false;
    let resumeTimer: ReturnType<typeof setTimeout> | undefined;
    const breaks: number[] = [];
    const end = (why: string, isFinal = false) => life.resolve({ isFinal, reason: why, wasReady });
    const own = createClient(deps, () => isAbandoned);
    client = own;
    const readyTimer = setTimeout(
      () => end('Discord did not answer the login in time'),
      timings.readyWithinMs,
    );
    const becomeReady = () => {
      clearTimeout(readyTimer);
      clearTimeout(resumeTimer);
      resumeTimer = undefined;
      enter('ready');
    };
    own.on(Events.InteractionCreate, (interaction) => {
      deps.onInteraction(interaction);
      // The library keeps one channel for each user who ever wrote to the bot; nothing asks for it again.
      if (!interaction.inGuild() && interaction.channelId) own.channels.cache.delete(interaction.channelId);
    });
    own.on(Events.ClientReady, () => {
      wasReady = true;
      becomeReady();
      deps.onReady();
    });
    own.on(Events.ShardReady, () => wasReady && becomeReady());
    own.on(Events.ShardResume, becomeReady);
    own.on(Events.ShardReconnecting, () => {
      if (!wasReady) return end('the connection broke during the login');
      const now = Date.now();
      breaks.push(now);
      if (breaks.filter((at) => now - at < 60_000).length > BREAKS_A_MINUTE) {
        return end('the connection breaks again and again');
      }
      enter('resuming', 'the connection broke');
      resumeTimer ??= setTimeout(() => end('the connection could not be resumed'), timings.resumeWithinMs);
    });
    own.on(Events.ShardDisconnect, ({ code }) => {
      const final = FINAL_CODES[code];
      end(final ?? `Discord closed the connection (${code})`, final !== undefined);
    });
    own.on(Events.Invalidated, () => end('Discord invalidated the session'));
    // Without these listeners an error would end the process, the API with it.
    own.on(Events.Error, (error) => log.debug({ err: error }, 'discord.js reports an error'));
    own.on(Events.ShardError, (error) =>
      log.debug({ err: error }, 'the gateway connection reports an error'),
    );
    const abandon = async () => {
      isAbandoned = true;
      end('stopped');
      clearTimeout(readyTimer);
      clearTimeout(resumeTimer);
      own.removeAllListeners();
      own.on(Events.Error, () => undefined);
      // Between Identify and READY this never resolves.
      await withTimeLimit(own.destroy(), DESTROY_WITHIN_MS).catch(() => undefined);
    };
    abandonCurrent = abandon;
    own.login(deps.token).catch((error) => {
      const isTokenRefused =
        error instanceof Error && 'code' in error && error.code === DiscordjsErrorCodes.TokenInvalid;
      // A close code tells more than the error of the login; its event may come a moment later.
      const why = isTokenRefused
        ? 'the token is not valid: set DISCORD_TOKEN anew'
        : `Discord cannot be reached (${error instanceof Error ? error.message : String(error)})`;
      setTimeout(() => end(why, isTokenRefused), isTokenRefused ? 0 : 50);
    });
    const ended = await life.promise;
    await abandon();
    return ended;
  }

  const isStopped = () => state === 'stopped';

  return {
    start: (): void => {
      running ??= run().catch((error) => {
        if (isStopped()) return;
        log.error({ err: error }, 'the bot stopped by an error of its own');
        enter('refused', 'an error of its own');
      });
    },
    /** Within half a second. */
    stop: async (): Promise<void> => {
      state = 'stopped';
      since = new Date();
      stopping.abort();
      await abandonCurrent?.();
      await running;
    },
    health: (): ConnectionHealth => {
      // After a close code that is final `client.isReady()` stays true: the shard knows better.
      const shard = client?.ws.shards.first();
      const isShardReady = shard?.status === Status.Ready;
      return {
        state: state === 'ready' && !isShardReady ? 'resuming' : state,
        reason,
        since,
        latencyMs: isShardReady && shard.ping >= 0 ? shard.ping : undefined,
        logins,
      };
    },
  };
}

/** Interactions belong to no intent, and hardly anything is worth remembering between two of them. */
function createClient({ apiUrl, log }: Deps, isAbandoned: () => boolean): Client {
  const self = {
    maxSize: 1,
    keepOverLimit: ({ id, client }: { id: string; client: Client }) => id === client.user?.id,
  };
  return new Client({
    intents: [],
    allowedMentions: { parse: [] },
    // Every answer that was deferred leaves a queue behind.
    rest: { api: apiUrl, timeout: 10_000, retries: 1, handlerSweepInterval: 60_000 },
    waitGuildTimeout: 0,
    makeCache: Options.cacheWithLimits({
      ...Options.DefaultMakeCacheSettings,
      ApplicationCommandManager: 0,
      ApplicationEmojiManager: 0,
      AutoModerationRuleManager: 0,
      BaseGuildEmojiManager: 0,
      DMMessageManager: 0,
      EntitlementManager: 0,
      GuildBanManager: 0,
      GuildEmojiManager: 0,
      GuildForumThreadManager: 0,
      GuildInviteManager: 0,
      GuildMemberManager: self,
      GuildMessageManager: 0,
      GuildScheduledEventManager: 0,
      GuildStickerManager: 0,
      GuildTextThreadManager: 0,
      MessageManager: 0,
      PresenceManager: 0,
      ReactionManager: 0,
      ReactionUserManager: 0,
      StageInstanceManager: 0,
      ThreadManager: 0,
      ThreadMemberManager: 0,
      UserManager: self,
      VoiceStateManager: 0,
    }),
    ws: {
      buildStrategy: (manager) => {
        // A shard that was waiting when its client was destroyed connects once more: without its session it never does.
        const { retrieveSessionInfo } = manager.options;
        manager.options.retrieveSessionInfo = (shardId) =>
          isAbandoned() ? new Promise<never>(() => undefined) : retrieveSessionInfo(shardId);
        // A malformed event makes the library throw inside its socket's listener, which would end the process.
        const emit = manager.emit.bind(manager);
        manager.emit = (...event: Parameters<typeof emit>) => {
          try {
            return emit(...event);
          } catch (error) {
            log.warn({ err: error }, 'Discord sent something that cannot be read');
            return false;
          }
        };
        return new SimpleShardingStrategy(manager);
      },
    },
  });
}
