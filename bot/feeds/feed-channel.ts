import type { REST } from '@discordjs/rest';
import { RESTJSONErrorCodes } from 'discord.js';
import type { MessageView } from '../embeds/message.ts';
import type { SendWithLinkFallback } from '../link-fallback.ts';
import { editMessage, MAY_NOT_POST, postMessage, sendDirectMessage } from '../messages.ts';
import { isDiscordError, isDiscordRefusal } from '../rest.ts';

/** A message of a feed. */
export type FeedMessage = MessageView & {
  /** The only role that it mentions. */
  roleId?: string | null;
};

type Options = {
  rest: REST;
  sendWithLinkFallback: SendWithLinkFallback;
  /** Aborts requests that wait for Discord's rate limits. */
  signal: AbortSignal;
};

/** Posts and edits messages of feeds; the REST client obeys Discord's rate limits. */
export type FeedChannels = {
  /**
   * Posts a message, once for each nonce.
   * @returns its id; undefined when it was posted earlier and has been deleted since.
   */
  post: (channelId: string, message: FeedMessage, nonce: string) => Promise<string | undefined>;
  /** @returns false when the message was deleted, or belongs to the bot's former application. */
  edit: (channelId: string, messageId: string, view: MessageView) => Promise<boolean>;
  sendDirectMessage: (userId: string, view: MessageView) => Promise<void>;
};

const CHANNEL_GONE = [RESTJSONErrorCodes.UnknownChannel, RESTJSONErrorCodes.UnknownGuild];
/** The message was deleted, or was posted when the bot was another application, whose messages this one cannot edit. */
const NOT_EDITABLE = [
  RESTJSONErrorCodes.UnknownMessage,
  RESTJSONErrorCodes.CannotEditMessageAuthoredByAnotherUser,
];

/** Creates the functions; once the signal has aborted, their promises reject. */
export function createFeedChannels({ rest, sendWithLinkFallback, signal }: Options): FeedChannels {
  return {
    post: async (channelId, message, nonce) => {
      try {
        return await sendWithLinkFallback(message, (view) =>
          postMessage(rest, { channelId, body: toBody(view, message.roleId), nonce, signal }),
        );
      } catch (error) {
        // An earlier attempt posted the message, and somebody has deleted it since.
        if (isDiscordError(error, RESTJSONErrorCodes.UnknownMessage)) return undefined;
        throw error;
      }
    },
    edit: async (channelId, messageId, message) => {
      try {
        await sendWithLinkFallback(message, (view) =>
          editMessage(rest, { channelId, messageId, signal, body: toBody(view) }),
        );
        return true;
      } catch (error) {
        if (isDiscordError(error, ...NOT_EDITABLE)) return false;
        throw error;
      }
    },
    sendDirectMessage: (userId, view) => sendDirectMessage(rest, userId, { view, signal }),
  };
}

/** Why a channel can no longer have a feed; undefined for temporary failures. */
export function channelLossOf(error: unknown): 'channelGone' | 'permissionLost' | undefined {
  if (isDiscordError(error, ...CHANNEL_GONE)) return 'channelGone';
  return isDiscordError(error, ...MAY_NOT_POST) ? 'permissionLost' : undefined;
}

/** Whether Discord rejects the message itself: it is malformed, or the guild's AutoMod blocks it. */
export function isMessageRefused(error: unknown): error is Error {
  return isDiscordRefusal(error) && error.status === 400 && channelLossOf(error) === undefined;
}

function toBody({ content = '', embeds, components }: MessageView, roleId?: string | null) {
  return {
    content: roleId ? `<@&${roleId}> ${content}` : content,
    embeds,
    components,
    allowed_mentions: { parse: [], ...(roleId && { roles: [roleId] }) },
  };
}
