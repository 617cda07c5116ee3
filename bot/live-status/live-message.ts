import type { REST } from '@discordjs/rest';
import { channelMention, RESTJSONErrorCodes, Routes } from 'discord.js';
import type { ServerList } from '../../src/live/server-list.ts';
import { type ServerView, toServerView } from '../../src/live/server-view.ts';
import type { LiveStatusMessage } from '../../src/queries/live-status-messages.ts';
import { Refusal } from '../command.ts';
import { type MessageView, noticeMessage } from '../embeds/message.ts';
import { liveServerCard } from '../embeds/server-card.ts';
import { liveServerList } from '../embeds/server-list.ts';
import type { SendWithLinkFallback } from '../link-fallback.ts';
import { localizationOf } from '../locales/localization.ts';
import { editMessage, MAY_NOT_POST, postMessage, sendDirectMessage } from '../messages.ts';
import { isDiscordError } from '../rest.ts';
import type { SitePages } from '../site-pages.ts';

export type LiveMessageDeps = {
  rest: REST;
  servers: Pick<ServerList, 'current' | 'findById'>;
  sendWithLinkFallback: SendWithLinkFallback;
  pages: SitePages;
};

/** Renders live status messages, and posts and edits them. */
export type LiveMessages = {
  /** The servers that a message shows; undefined when it shows one server, and that is no longer listed. */
  serversOf: (message: Pick<LiveStatusMessage, 'serverId'>) => ServerView[] | undefined;
  /**
   * A text that changes when the content of a message does. It omits ping and poll time, which change with every poll.
   * @param servers undefined: the server that the message shows is no longer listed.
   */
  fingerprint: (
    message: Pick<LiveStatusMessage, 'serverId' | 'locale'>,
    servers: ServerView[] | undefined,
  ) => string;
  /**
   * Posts a message, once for each nonce as long as it is not deleted.
   * @returns its id.
   * @throws {Refusal} when the bot may not post in the channel.
   */
  post: (
    message: Pick<LiveStatusMessage, 'channelId' | 'serverId' | 'locale'>,
    servers: ServerView[],
    nonce: string,
  ) => Promise<string>;
  /** @param servers undefined: the server that the message shows is no longer listed. */
  edit: (message: Omit<LiveStatusMessage, 'createdAt'>, servers: ServerView[] | undefined) => Promise<void>;
  /** Sends a direct message that says that the bot may no longer edit this one. */
  tellForbidden: (message: Pick<LiveStatusMessage, 'channelId' | 'locale'>, userId: string) => Promise<void>;
  remove: (message: Pick<LiveStatusMessage, 'channelId' | 'messageId'>) => Promise<void>;
};

const GONE = [
  RESTJSONErrorCodes.UnknownChannel,
  RESTJSONErrorCodes.UnknownGuild,
  RESTJSONErrorCodes.UnknownMessage,
  RESTJSONErrorCodes.CannotEditMessageAuthoredByAnotherUser,
];

/**
 * Creates the functions; they save nothing in the database.
 * @param signal aborts edits, which may wait for Discord's rate limits.
 */
export function createLiveMessages(
  { rest, servers, sendWithLinkFallback, pages }: LiveMessageDeps,
  signal: AbortSignal,
): LiveMessages {
  function render(
    { serverId, locale }: Pick<LiveStatusMessage, 'serverId' | 'locale'>,
    views: ServerView[] | undefined,
  ): MessageView {
    const { texts } = localizationOf(locale);
    if (views === undefined) return noticeMessage(texts.server.noLongerListed);
    const [server] = views;
    return serverId === null || server === undefined
      ? liveServerList(views, { texts, pages })
      : liveServerCard(server, { texts, pages });
  }

  return {
    serversOf: ({ serverId }) => {
      if (serverId === null) return servers.current().map(toServerView);
      const status = servers.findById(serverId);
      return status && [toServerView(status)];
    },
    fingerprint: (message, views) => JSON.stringify(render(message, views?.map(withoutPoll))),
    post: async (message, views, nonce) => {
      const { channelId } = message;
      const send = (view: MessageView) =>
        postMessage(rest, { channelId, body: toBody(view), nonce }).catch((error) => {
          // The earlier message has been deleted, so the invoker wants another one.
          if (!isDiscordError(error, RESTJSONErrorCodes.UnknownMessage)) throw error;
          return postMessage(rest, { channelId, body: toBody(view) });
        });
      try {
        return await sendWithLinkFallback(render(message, views), send);
      } catch (error) {
        if (!isDiscordError(error, ...MAY_NOT_POST)) throw error;
        throw new Refusal(({ refusals }) => noticeMessage(refusals.cannotPost));
      }
    },
    edit: async (message, views) => {
      const { channelId, messageId } = message;
      await sendWithLinkFallback(render(message, views), (view) =>
        editMessage(rest, { channelId, messageId, signal, body: toBody(view) }),
      );
    },
    tellForbidden: async ({ channelId, locale }, userId) => {
      const { texts } = localizationOf(locale);
      const view = noticeMessage(texts.server.updatesForbidden(channelMention(channelId)));
      await sendDirectMessage(rest, userId, { view, signal });
    },
    remove: async ({ channelId, messageId }) => {
      await rest.delete(Routes.channelMessage(channelId, messageId));
    },
  };
}

/** Whether an edit failed because the message is deleted, or belongs to the bot's former application. */
export function isMessageGone(error: unknown): error is Error {
  return isDiscordError(error, ...GONE);
}

/**
 * Whether an edit failed because the bot lacks a permission: for good, or while somebody changes roles. Discord also
 * responds so when the bot reopens a locked thread.
 */
export function isEditForbidden(error: unknown): error is Error {
  return isDiscordError(error, ...MAY_NOT_POST);
}

/** The server without the values that change with every poll. */
function withoutPoll(server: ServerView): ServerView {
  return { ...server, pingMs: 0, updatedAt: server.updatedAt && new Date(0) };
}

function toBody({ embeds, components }: MessageView) {
  return { embeds, components, allowed_mentions: { parse: [] } };
}
