import { RESTJSONErrorCodes } from 'discord.js';
import type { Logger } from 'pino';
import type { MessageView } from './embeds/message.ts';
import { isDiscordError } from './rest.ts';

/** Sends a message, and again without the link buttons whose addresses Discord rejects. */
export type SendWithLinkFallback = <T>(
  view: MessageView,
  send: (view: MessageView) => Promise<T>,
) => Promise<T>;

/** A line about the address of one button, among those that the library makes of Discord's error. */
const REFUSED_LINK = /components\[(\d+)\]\.components\[(\d+)\]\.url\[URL_TYPE/g;

/**
 * Discord rejects a whole message for a link button to a host such as `localhost`. From then on messages are sent without
 * link buttons to that host.
 */
export function createLinkFallback(log: Logger): SendWithLinkFallback {
  const refusedHosts = new Set<string>();
  return async (view, send) => {
    const message = withoutLinks(view, refusedHosts);
    try {
      return await send(message);
    } catch (error) {
      if (!isDiscordError(error, RESTJSONErrorCodes.InvalidFormBodyOrContentType)) throw error;
      const hosts = [...error.message.matchAll(REFUSED_LINK)].flatMap(([, row, child]) => {
        const button = message.components[Number(row)]?.components[Number(child)];
        return button && 'url' in button ? new URL(button.url).host : [];
      });
      if (hosts.length === 0) throw error;
      for (const host of hosts) refusedHosts.add(host);
      log.warn(
        { err: error, hosts },
        'Discord refuses link buttons to these hosts, so the buttons are left out: set PUBLIC_URL and APPEAL_URL to addresses that Discord accepts',
      );
      return send(withoutLinks(message, refusedHosts));
    }
  };
}

/** The same message without link buttons to some hosts, and without the rows that this leaves empty. */
function withoutLinks(view: MessageView, hosts: ReadonlySet<string>): MessageView {
  const components = view.components
    .map((row) => ({
      ...row,
      components: row.components.filter((child) => !('url' in child && hosts.has(new URL(child.url).host))),
    }))
    .filter((row) => row.components.length > 0);
  return { ...view, components };
}
