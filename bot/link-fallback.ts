import { RESTJSONErrorCodes } from 'discord.js';
import type { Logger } from 'pino';
import { linkHosts, type MessageView, withoutLinks } from './embeds/message.ts';
import { isDiscordError } from './rest.ts';

/** Sends a message, and again without the link buttons whose addresses Discord rejects. */
export type SendWithLinkFallback = <T>(
  view: MessageView,
  send: (view: MessageView) => Promise<T>,
) => Promise<T>;

/**
 * Discord rejects a whole message for a link button to a host such as `localhost`. From then on messages are sent without
 * link buttons to that host.
 */
export function createLinkFallback(log: Logger): SendWithLinkFallback {
  const refusedHosts = new Set<string>();
  return async (view, send) => {
    const sent = withoutLinks(view, refusedHosts);
    try {
      return await send(sent);
    } catch (error) {
      if (!isDiscordError(error, RESTJSONErrorCodes.InvalidFormBodyOrContentType)) throw error;
      const refused = linkHosts(sent, (row, child) => isLinkRefused(error.rawError, row, child));
      if (refused.length === 0) throw error;
      for (const host of refused) refusedHosts.add(host);
      log.warn(
        { err: error, hosts: refused },
        'Discord refuses link buttons to these hosts, so the buttons are left out: set PUBLIC_URL and APPEAL_URL to addresses that Discord accepts',
      );
      return send(withoutLinks(sent, refusedHosts));
    }
  };
}

/**
 * Whether Discord's error is about the address of one button. In the response to an interaction, the message is in `data`.
 * @see https://discord.com/developers/docs/reference#error-messages
 */
function isLinkRefused(rawError: unknown, row: number, child: number): boolean {
  const errors = readPath(rawError, ['errors']);
  const button = ['components', `${row}`, 'components', `${child}`, 'url'];
  const refusal = readPath(errors, button) ?? readPath(errors, ['data', ...button]);
  return refusal !== undefined && JSON.stringify(refusal).includes('URL_TYPE');
}

function readPath(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (part, name) => (typeof part === 'object' && part !== null ? Reflect.get(part, name) : undefined),
    value,
  );
}
