import ipaddr from 'ipaddr.js';

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * Parses addresses and CIDRs once; the returned function tells whether an address lies in one of them. It caches the last
 * result: behind a proxy every request has the same address, and parsing it would take a quarter of the response time.
 */
export function createAddressMatcher(networks: readonly string[]): (address: string) => boolean {
  const parsed = networks.map(toNetwork);
  let last = { address: '', isInside: false };
  return (address) => {
    if (parsed.length === 0) return false;
    if (address !== last.address) last = { address, isInside: isInOneOf(parsed, address) };
    return last.isInside;
  };
}

function isInOneOf(networks: readonly Network[], address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const candidate = ipaddr.process(address);
  return networks.some((network) => candidate.kind() === network[0].kind() && candidate.match(network));
}

/** The block from which all public IPv6 addresses are assigned. */
const GLOBAL_UNICAST: Network = [ipaddr.IPv6.parse('2000::'), 3];
/** The last 32 bits of an address in it are an IPv4 address, reached through a translator. */
const NAT64: Network = [ipaddr.IPv6.parse('64:ff9b::'), 96];

/**
 * Whether an IP address is public: not private, loopback, link-local, shared, multicast, reserved, for documentation, or
 * of a tunnel (6to4, Teredo). For an IPv6 address that contains an IPv4 one (mapped, NAT64) the latter decides.
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry https://www.iana.org/assignments/iana-ipv6-special-registry
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  if (address.kind() === 'ipv4') return address.range() === 'unicast';
  if (address.match(NAT64)) {
    return ipaddr.fromByteArray(address.toByteArray().slice(12)).range() === 'unicast';
  }
  return address.range() === 'unicast' && address.match(GLOBAL_UNICAST);
}

function toNetwork(text: string): Network {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}
