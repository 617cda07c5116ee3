import { createHash } from 'node:crypto';
import type { REST } from '@discordjs/rest';
import { RESTJSONErrorCodes, Routes } from 'discord.js';
import type { MessageView } from '../embeds/message.ts';
import type { SendWithLinkFallback } from '../link-fallback.ts';
import { isDiscordError, isDiscordRefusal } from '../rest.ts';

/** A message of a feed. */
export type FeedMessage = MessageView & {
  /** The role that it mentions, and nobody else. */
  roleId?: string | null;
};

type Options = {
  rest: REST;
  sendWithLinkFallback: SendWithLinkFallback;
  /** Ends requests that wait for Discord's limits. */
  signal: AbortSignal;
};

/** How messages of feeds get to Discord, as fast as its limits let the REST client. */
export type FeedChannels = {
  /**
   * Posts a message, once however often it is tried within the minutes that Discord remembers a nonce.
   * @returns its id; undefined when Discord has it no longer.
   */
  post: (channelId: string, message: FeedMessage, nonce: string) => Promise<string | undefined>;
  /** @returns false when the message was deleted. */
  edit: (channelId: string, messageId: string, view: MessageView) => Promise<boolean>;
  /** Writes to a user directly. */
  tell: (userId: string, view: MessageView) => Promise<void>;
};

const CHANNEL_GONE = [RESTJSONErrorCodes.UnknownChannel, RESTJSONErrorCodes.UnknownGuild];
const PERMISSION_LOST = [
  RESTJSONErrorCodes.MissingAccess,
  RESTJSONErrorCodes.MissingPermissions,
  RESTJSONErrorCodes.CannotSendMessagesInNonTextChannel,
  RESTJSONErrorCodes.ThreadLocked,
];
/** Of a nonce, in characters. */
const NONCE_LENGTH = 25;

export function createFeedChannels({ rest, sendWithLinkFallback, signal }: Options): FeedChannels {
  return {
    post: async (channelId, message, nonce) => {
      try {
        const posted = await sendWithLinkFallback(message, (view) =>
          rest.post(Routes.channelMessages(channelId), {
            signal,
            body: { ...toBody(view, message.roleId), nonce, enforce_nonce: true },
          }),
        );
        return readId(posted);
      } catch (error) {
        // It was posted at an earlier attempt, and somebody has deleted it since.
        if (isDiscordError(error, RESTJSONErrorCodes.UnknownMessage)) return undefined;
        throw error;
      }
    },
    edit: async (channelId, messageId, message) => {
      try {
        await sendWithLinkFallback(message, (view) =>
          rest.patch(Routes.channelMessage(channelId, messageId), { signal, body: toBody(view) }),
        );
        return true;
      } catch (error) {
        if (isDiscordError(error, RESTJSONErrorCodes.UnknownMessage)) return false;
        throw error;
      }
    },
    tell: async (userId, view) => {
      const channel = await rest.post(Routes.userChannels(), { signal, body: { recipient_id: userId } });
      await rest.post(Routes.channelMessages(readId(channel)), { signal, body: toBody(view) });
    },
  };
}

/** Why a channel can have no feed any more; undefined for failures that may pass. */
export function channelLossOf(error: unknown): 'channelGone' | 'permissionLost' | undefined {
  if (isDiscordError(error, ...CHANNEL_GONE)) return 'channelGone';
  return isDiscordError(error, ...PERMISSION_LOST) ? 'permissionLost' : undefined;
}

/** Whether Discord refuses the message itself, for its form or by a filter of the guild. */
export function isMessageRefused(error: unknown): error is Error {
  return isDiscordRefusal(error) && error.status === 400;
}

/** A nonce derived from its input: the same input gives the same nonce. */
export function toNonce(...parts: readonly (string | number)[]): string {
  return createHash('sha256').update(parts.join(':')).digest('base64url').slice(0, NONCE_LENGTH);
}

function toBody({ embeds, components }: MessageView, roleId?: string | null) {
  return {
    ...(roleId && { content: `<@&${roleId}>` }),
    embeds,
    components,
    allowed_mentions: { parse: [], ...(roleId && { roles: [roleId] }) },
  };
}

function readId(response: unknown): string {
  if (typeof response === 'object' && response !== null && 'id' in response) return String(response.id);
  throw new Error("Discord's response lacks an id");
}
