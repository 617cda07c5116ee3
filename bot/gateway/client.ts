import { Client, Options, SimpleShardingStrategy } from 'discord.js';
import type { Logger } from 'pino';

type Settings = {
  apiUrl: string;
  log: Logger;
  /** Whether the client has been discarded: it must not connect again. */
  isAbandoned: () => boolean;
};

/** A client without intents and almost without cache: interactions need no intents and carry all data that is used. */
export function createClient({ apiUrl, log, isAbandoned }: Settings): Client {
  const onlyItself = {
    maxSize: 1,
    keepOverLimit: ({ id, client }: { id: string; client: Client }) => id === client.user?.id,
  };
  return new Client({
    intents: [],
    allowedMentions: { parse: [] },
    // Every deferred response leaves a queue in the REST client: sweep them every minute.
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
      GuildMemberManager: onlyItself,
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
