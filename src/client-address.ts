import ipaddr from 'ipaddr.js';

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/** Reads addresses and CIDRs once; the answer says whether an address lies in one of them. */
export function createAddressMatcher(networks: readonly string[]): (address: string) => boolean {
  const parsed = networks.map(toNetwork);
  return (address) => {
    if (parsed.length === 0 || !ipaddr.isValid(address)) return false;
    const candidate = ipaddr.process(address);
    return parsed.some((network) => candidate.kind() === network[0].kind() && candidate.match(network));
  };
}

/**
 * The address a request came from: the peer's, or behind a trusted proxy the rightmost address of X-Forwarded-For that
 * is no trusted proxy itself. What stands left of it anybody may have written.
 */
export function findClientAddress(
  peer: string,
  forwardedFor: string | null,
  isTrustedProxy: (address: string) => boolean,
): string {
  if (forwardedFor === null || !isTrustedProxy(peer)) return peer;
  const hops = forwardedFor.split(',').map((hop) => withoutPort(hop.trim()));
  for (const hop of hops.reverse()) {
    if (!ipaddr.isValid(hop)) return peer;
    if (!isTrustedProxy(hop)) return hop;
    peer = hop;
  }
  return peer;
}

/** What a client is limited by: an IPv4 address, or the /64 of an IPv6 one, which one customer holds whole. */
export function rateLimitKey(address: string): string {
  if (!address.includes(':')) return address;
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return `${parsed
    .toByteArray()
    .slice(0, 8)
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')}/64`;
}

function toNetwork(text: string): Network {
  if (text.includes('/')) return ipaddr.parseCIDR(text) as Network;
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

function withoutPort(hop: string): string {
  const bracketed = /^\[([^\]]+)\](?::[0-9]+)?$/.exec(hop);
  if (bracketed?.[1]) return bracketed[1];
  return /^[0-9.]+:[0-9]+$/.test(hop) ? hop.slice(0, hop.indexOf(':')) : hop;
}
