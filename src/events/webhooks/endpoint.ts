import { isIP } from 'node:net';
import { InvalidInput } from '../../domain/errors.ts';
import { MAX_WEBHOOK_URL_LENGTH } from '../../domain/webhook.ts';
import { createAddressMatcher, isPublicAddress } from '../../runtime/address.ts';

/** Which endpoints are allowed. */
export type EndpointRules = {
  /**
   * Validates the URL of an endpoint. What its host name resolves to is checked at each connection.
   * @throws {InvalidInput}
   */
  parseUrl: (text: string) => string;
  /** Whether a connection may be made to an IP address. */
  mayConnect: (address: string, protocol: string) => boolean;
};

/** Discord's webhooks accept its own messages only. */
export class DiscordWebhookRefused extends InvalidInput {
  constructor() {
    super(
      "Discord doesn't accept these messages: to post penalties in a channel, use the bot's command /feed there",
    );
  }
}

const DISCORD_WEBHOOK = /^(?:[a-z]+\.)?discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\//;

/** @param allow networks in which addresses that are not public, and plain http, are allowed. */
export function createEndpointRules(allow: readonly string[]): EndpointRules {
  const isAllowed = createAddressMatcher(allow);
  const mayConnect = (address: string, protocol: string) =>
    isAllowed(address) || (protocol === 'https:' && isPublicAddress(address));

  function parseUrl(text: string): string {
    const url = URL.parse(text.trim());
    const isHttp = url?.protocol === 'http:' && allow.length > 0;
    if (!url || (url.protocol !== 'https:' && !isHttp)) {
      throw refusal(
        text,
        'one that begins with https://, or with http:// inside the networks of WEBHOOK_ALLOW',
      );
    }
    if (url.username !== '' || url.password !== '') throw refusal(text, 'one without user and password');
    if (DISCORD_WEBHOOK.test(`${url.host}${url.pathname}`)) {
      throw new DiscordWebhookRefused();
    }
    url.hash = '';
    if (url.href.length > MAX_WEBHOOK_URL_LENGTH) {
      throw refusal(text, `one of at most ${MAX_WEBHOOK_URL_LENGTH} characters`);
    }
    // The URL parser has normalized 0x7f.1, 2130706433 and the like to 127.0.0.1.
    const host = hostOf(url);
    if (isIP(host) !== 0 && !mayConnect(host, url.protocol)) {
      throw refusal(text, 'one on the internet, or inside the networks of WEBHOOK_ALLOW');
    }
    return url.href;
  }

  return { parseUrl, mayConnect };
}

/** The host name or IP address of a URL; IPv6 without its brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

function refusal(text: string, format: string): InvalidInput {
  const printable = text
    .trim()
    .slice(0, 200)
    .replace(/\/\/.*@/s, '//…@');
  return new InvalidInput(`The webhook address ${JSON.stringify(printable)} isn't valid: use ${format}`);
}
