import { createAddressMatcher } from '../../src/runtime/address.ts';

/** RFC 3986 section 3.2.2, without user: a name, an IPv4 address, or an IPv6 one in brackets, and perhaps a port. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]{1,255})(?::[0-9]{0,5})?$/i;

const EXPECTED = 'give the name or address of this service, such as play.example.org or 127.0.0.1:3000';

/**
 * What is wrong with the Host header of a request, in a sentence; undefined for one that is well-formed. Of another, Bun
 * makes `request.url` a text without authority, which `URL` refuses and in which routers find the wrong path.
 */
export type FindHostFault = (request: Request) => string | undefined;

/** Remembers the last good one: clients of one service nearly always send the same. */
export function createHostCheck(): FindHostFault {
  let lastGood: string | undefined;
  return (request) => {
    const host = request.headers.get('host');
    if (host === lastGood && lastGood !== undefined) return undefined;
    if (!host) return `The Host header is missing: ${EXPECTED}`;
    if (!HOST.test(host) || !URL.canParse(`http://${host}`))
      return `The Host header is malformed: ${EXPECTED}`;
    lastGood = host;
    return undefined;
  };
}

const isLoopbackAddress = createAddressMatcher(['127.0.0.0/8', '::1']);

/** What proxies add to a request that they forward. */
const FORWARDING_HEADER = /^(?:x-forwarded-.*|x-real-ip|forwarded|via|cf-.*)$/;

/**
 * Whether a request was made on this machine. A proxy on it is loopback too, and some of them tell it only by the Host
 * that they pass on.
 * @param peer the address that the connection comes from.
 */
export function isMadeHere(request: Request, peer: string): boolean {
  return (
    namesLoopback(peer) &&
    namesLoopback(new URL(request.url).hostname) &&
    !request.headers.keys().some((name) => FORWARDING_HEADER.test(name))
  );
}

/** Whether a host name or address, as `URL` writes it, is this machine's own. */
export function namesLoopback(hostname: string): boolean {
  return /^localhost\.?$/.test(hostname) || isLoopbackAddress(hostname.replace(/^\[|\]$/g, ''));
}
