import ipaddr from 'ipaddr.js';

type Network = [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * Parses addresses and CIDRs once; the returned function tells whether an address lies in one of them. It caches the last
 * result: behind a proxy every request has the same address, and parsing it would take a quarter of the response time.
 */
export function createAddressMatcher(networks: readonly string[]): (address: string) => boolean {
  const parsedNetworks = networks.map(toNetwork);
  let last = { address: '', isInside: false };
  return (address) => {
    if (parsedNetworks.length === 0) return false;
    if (address !== last.address) last = { address, isInside: isInOneOf(parsedNetworks, address) };
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

/**
 * Normalizes an address or a CIDR network: IPv4 that is written as IPv6 (`::ffff:10.0.0.0/104`) becomes IPv4. Undefined
 * for anything else, also for IPv4 with leading zeros, which some parsers read as octal.
 */
export function tryNormalizeNetwork(text: string): string | undefined {
  const [written = '', bits, ...rest] = text.split('/');
  const isIpv6 = written.includes(':');
  const isAddress = ipaddr.isValid(written) && !written.includes('%');
  // An IPv6 address may end with an IPv4 one.
  const dotted = isIpv6 && !written.includes('.') ? '0.0.0.0' : written.slice(written.lastIndexOf(':') + 1);
  if (!isAddress || rest.length > 0 || !ipaddr.IPv4.isValidFourPartDecimal(dotted)) return undefined;
  const address = ipaddr.process(written);
  if (bits === undefined) return address.toString();
  const isIpv4 = address.kind() === 'ipv4';
  // A mapped IPv4 address is the last 32 of 128 bits.
  const length = Number(bits) - (isIpv6 && isIpv4 ? 96 : 0);
  const isLength = /^[0-9]{1,3}$/.test(bits) && length >= 0 && length <= (isIpv4 ? 32 : 128);
  return isLength ? `${address}/${length}` : undefined;
}
