import { RESTJSONErrorCodes } from 'discord.js';
import type { Logger } from 'pino';
import { type MessageView, withoutLinks } from './embeds/message.ts';
import { isDiscordError } from './rest.ts';

/** Sends a message, and again without link buttons if Discord rejects their address. */
export type SendWithLinkFallback = <T>(
  view: MessageView,
  send: (view: MessageView) => Promise<T>,
) => Promise<T>;

/**
 * Discord rejects a whole message for a link button to a host such as `localhost`. From then on all messages are sent
 * without link buttons, since nearly all of them lead to PUBLIC_URL.
 */
export function createLinkFallback(log: Logger): SendWithLinkFallback {
  let refusesLinks = false;
  return async (view, send) => {
    if (refusesLinks) return send(withoutLinks(view));
    try {
      return await send(view);
    } catch (error) {
      if (!isLinkRefusal(error)) throw error;
      log.warn(
        { err: error },
        'Discord refuses link buttons to PUBLIC_URL or APPEAL_URL, so all are left out: set them to addresses Discord accepts',
      );
      refusesLinks = true;
      return send(withoutLinks(view));
    }
  };
}

function isLinkRefusal(error: unknown): boolean {
  return (
    isDiscordError(error, RESTJSONErrorCodes.InvalidFormBodyOrContentType) &&
    JSON.stringify(error.rawError).includes('URL_TYPE')
  );
}
