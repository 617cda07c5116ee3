import ipaddr from 'ipaddr.js';
import { isPublicAddress } from '../../src/runtime/address.ts';
import type { Incoming } from './route-definition.ts';

/** The longest chain of proxies that is followed; the header may be longer, since clients can send any. */
const MAX_HOPS = 32;
/** An IPv6 address in brackets, its port and the space before it. */
const MAX_HOP_LENGTH = 64;

/** The rate-limit key of a request without a token: its address, behind trusted proxies the forwarded one. */
export type ClientKey = (incoming: Incoming) => string;

/** @param onUntrustedProxy called with the first loopback or private address that forwards requests but is not trusted. */
export function createClientKey(
  isTrustedProxy: (address: string) => boolean,
  onUntrustedProxy: (address: string) => void,
): ClientKey {
  let isNoticed = false;
  return ({ request, server }) => {
    const peer = server?.requestIP(request)?.address ?? '0.0.0.0';
    const forwardedFor = request.headers.get('x-forwarded-for');
    if (forwardedFor !== null && !isNoticed && !isTrustedProxy(peer) && !isPublicAddress(peer)) {
      isNoticed = true;
      onUntrustedProxy(peer);
    }
    return rateLimitKey(findClientAddress(peer, forwardedFor, isTrustedProxy));
  };
}

/**
 * The address a request came from: the peer's, or behind a trusted proxy the rightmost address of X-Forwarded-For that
 * is not itself a trusted proxy. Entries to its left may be forged.
 */
export function findClientAddress(
  peer: string,
  forwardedFor: string | null,
  isTrustedProxy: (address: string) => boolean,
): string {
  if (forwardedFor === null || !isTrustedProxy(peer)) return peer;
  for (const hop of lastHops(forwardedFor).reverse()) {
    if (!ipaddr.isValid(hop)) return peer;
    if (!isTrustedProxy(hop)) return hop;
    peer = hop;
  }
  return peer;
}

/** The last addresses of the header, at most {@link MAX_HOPS}. */
function lastHops(forwardedFor: string): string[] {
  const hops = forwardedFor
    .slice(-MAX_HOPS * MAX_HOP_LENGTH)
    .split(',')
    .slice(-MAX_HOPS);
  return hops.map((hop) => withoutPort(hop.trim()));
}

/** The key of a client's limits: an IPv4 address, or the /64 of an IPv6 address, since a customer gets a whole /64. */
export function rateLimitKey(address: string): string {
  if (!address.includes(':')) return address;
  if (!ipaddr.isValid(address)) return address;
  const ip = ipaddr.process(address);
  if (ip.kind() === 'ipv4') return ip.toString();
  return `${ip
    .toByteArray()
    .slice(0, 8)
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')}/64`;
}

function withoutPort(hop: string): string {
  const bracketed = /^\[([^\]]+)\](?::[0-9]+)?$/.exec(hop);
  if (bracketed?.[1]) return bracketed[1];
  return /^[0-9.]+:[0-9]+$/.test(hop) ? hop.slice(0, hop.indexOf(':')) : hop;
}
