import type { REST } from '@discordjs/rest';
import { ChannelType, Routes } from 'discord.js';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';

const MAX_CHANNELS = 1000;
const CHANNEL_KEPT_MS = 3_600_000;

/**
 * Publishes a message if it is in an announcement channel, so that the guilds that follow the channel get it. It
 * tries once, in the background: Discord allows ten an hour, and the message is in its channel anyway.
 */
export type Publish = (message: { channelId: string; messageId: string }) => void;

/** @param deps.rest a client that does not wait for long limits. */
export function createPublisher({ rest, log }: { rest: REST; log: Logger }): Publish {
  const isAnnouncement = new LRUCache<string, Promise<boolean>>({ max: MAX_CHANNELS, ttl: CHANNEL_KEPT_MS });

  async function readIsAnnouncement(channelId: string): Promise<boolean> {
    const channel = await rest.get(Routes.channel(channelId));
    const type = typeof channel === 'object' && channel !== null && 'type' in channel && channel.type;
    return type === ChannelType.GuildAnnouncement;
  }

  async function publish(channelId: string, messageId: string): Promise<void> {
    const reading = isAnnouncement.get(channelId) ?? readIsAnnouncement(channelId);
    isAnnouncement.set(channelId, reading);
    reading.catch(() => isAnnouncement.delete(channelId));
    if (await reading) await rest.post(Routes.channelMessageCrosspost(channelId, messageId));
  }

  return ({ channelId, messageId }) => {
    publish(channelId, messageId).catch((error) =>
      log.debug({ err: error, channelId, messageId }, 'a message could not be published'),
    );
  };
}
