import { createAddressMatcher } from '../../src/runtime/address.ts';

/** RFC 3986 section 3.2.2: a name, an IPv4 address or an IPv6 address in brackets, then an optional port. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[\w.~!$&'()*+,;=%-]{1,255})(?::[0-9]{0,5})?$/i;

const EXPECTED = 'give the name or address of this service, such as play.example.org or 127.0.0.1:3000';

/**
 * What is wrong with the Host header of a request, in a sentence; undefined when it is well-formed. With a malformed
 * one, Bun builds a `request.url` without authority: `URL` throws on it, and routers find the wrong path in it.
 */
type FindHostFault = (request: Request) => string | undefined;

/** Caches the last valid one: the clients of a service nearly always send the same. */
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

/** Headers that proxies add. */
const FORWARDING_HEADER = /^(?:x-forwarded-.*|x-real-ip|forwarded|via|cf-.*)$/;

/**
 * Whether a request was made on this machine. The peer of a forwarded request may be loopback too, and with some
 * proxies only the Host header shows that the request was forwarded.
 * @param peer the address that the connection comes from.
 */
export function isMadeHere(request: Request, peer: string): boolean {
  return (
    namesLoopback(peer) &&
    namesLoopback(new URL(request.url).hostname) &&
    !request.headers.keys().some((name) => FORWARDING_HEADER.test(name))
  );
}

/** Whether a host name or address, as `URL` writes it, is loopback. */
export function namesLoopback(hostname: string): boolean {
  return /^localhost\.?$/.test(hostname) || isLoopbackAddress(hostname.replace(/^\[|\]$/g, ''));
}
