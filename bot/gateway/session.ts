import {
  ActivityType,
  type APIInteractionGuildMember,
  ChannelType,
  DiscordjsErrorCodes,
  Events,
  GatewayCloseCodes,
  GatewayDispatchEvents,
  type GatewayDispatchPayload,
  type Interaction,
  Status,
} from 'discord.js';
import type { Logger } from 'pino';
import { withTimeLimit } from '../../src/runtime/time-limit.ts';
import { createClient } from './client.ts';

export type SessionDeps = {
  token: string;
  apiUrl: string;
  log: Logger;
  timings: SessionTimings;
  onInteraction: (interaction: Interaction, place: { isThread: boolean }) => void;
  /** Whoever sent an interaction in a guild, as a member of it. */
  onMember?: ((guildId: string, discordId: string, member: APIInteractionGuildMember) => void) | undefined;
  /** The login succeeded; once in a session. `guilds`: how many the bot is in. */
  onLogin: (bot: { applicationId: string; userId: string; guilds: number }) => void;
  /** Connected: after the login, and after each resume. */
  onReady: () => void;
  /** The connection broke, and the library tries to resume it. */
  onResuming: () => void;
};

export type SessionTimings = {
  /** How long a login may take. */
  readyWithinMs: number;
  /** How long the library may try to resume. */
  resumeWithinMs: number;
};

/** How a session ended. After a final end, trying again is pointless. */
export type SessionEnd = { isFinal: boolean; reason: string; wasReady: boolean };

/** One client, from its login until it is discarded. */
export type Session = {
  ended: Promise<SessionEnd>;
  /** Disconnects; within half a second. */
  close: () => Promise<void>;
  isReady: () => boolean;
  /** Round trip of the last heartbeat; undefined before the first acknowledgement. */
  latencyMs: () => number | undefined;
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
export function openSession(deps: SessionDeps): Session {
  const { log, timings } = deps;
  const ended = Promise.withResolvers<SessionEnd>();
  const recentBreaks: number[] = [];
  let wasReady = false;
  let isClosed = false;
  let resumeTimer: ReturnType<typeof setTimeout> | undefined;
  const end = (reason: string, isFinal = false) => ended.resolve({ isFinal, reason, wasReady });
  const readyTimer = setTimeout(() => end('the login to Discord timed out'), timings.readyWithinMs);
  const client = createClient({ ...deps, isAbandoned: () => isClosed });

  const enterReady = () => {
    clearTimeout(readyTimer);
    clearTimeout(resumeTimer);
    resumeTimer = undefined;
    deps.onReady();
  };
  // The library caches no channels and roles of guilds, so those of an interaction are only in the raw packet.
  const inThreads = new Set<string>();
  client.on(Events.Raw, (packet: GatewayDispatchPayload) => {
    if (packet.t !== GatewayDispatchEvents.InteractionCreate) return;
    const { id, channel, guild_id: guildId, member } = packet.d;
    if (THREADS.some((type) => type === channel?.type)) inThreads.add(id);
    if (guildId && member) deps.onMember?.(guildId, member.user.id, member);
  });
  client.on(Events.InteractionCreate, (interaction) => {
    deps.onInteraction(interaction, { isThread: inThreads.delete(interaction.id) });
    // The library caches a channel for each user who has ever written to the bot, and nothing reads these.
    if (!interaction.inGuild() && interaction.channelId) client.channels.cache.delete(interaction.channelId);
  });
  client.on(Events.ClientReady, ({ application, user, guilds }) => {
    wasReady = true;
    enterReady();
    deps.onLogin({ applicationId: application.id, userId: user.id, guilds: guilds.cache.size });
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
    end(final ?? `Discord closed the connection (${code})`, final !== undefined);
  });
  client.on(Events.Invalidated, () => end('Discord invalidated the session'));
  // Without listeners an error would end the process, and the API with it.
  client.on(Events.Error, (error) => log.debug({ err: error }, 'error event of discord.js'));
  client.on(Events.ShardError, (error) => log.debug({ err: error }, 'error event of the gateway connection'));

  client.login(deps.token).catch((error) => {
    const isTokenInvalid =
      error instanceof Error && 'code' in error && error.code === DiscordjsErrorCodes.TokenInvalid;
    const reason = isTokenInvalid
      ? 'the token is not valid: set a new DISCORD_TOKEN'
      : `Discord cannot be reached (${error instanceof Error ? error.message : String(error)})`;
    setTimeout(() => end(reason, isTokenInvalid), CLOSE_CODE_WITHIN_MS);
  });

  const shard = () => client.ws.shards.first();
  // After a final close code `client.isReady()` stays true, whereas the shard's status is correct.
  const isReady = () => shard()?.status === Status.Ready;
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
    latencyMs: () => {
      const ping = shard()?.ping ?? -1;
      return isReady() && ping >= 0 ? ping : undefined;
    },
    showStatus: (text) => {
      if (isReady()) client.user?.setActivity({ name: text, type: ActivityType.Custom });
      return isReady();
    },
  };
}
