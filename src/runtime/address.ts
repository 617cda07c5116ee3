import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Parses addresses and CIDRs once; the returned function tells whether an address lies in one of them. IPv4 may be written as
 * IPv6 on both sides.
 */
export function createAddressMatcher(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

/** Whether a text is an address or a CIDR network; not IPv4 with leading zeros, which some parsers read as octal. */
export function isNetwork(text: string): boolean {
  const [address = '', bits = '0', ...rest] = text.split('/');
  const maxBits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  return !address.includes('%') && rest.length === 0 && /^[0-9]{1,3}$/.test(bits) && Number(bits) <= maxBits;
}

/** The block from which all public IPv6 addresses are assigned. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
/** The last 32 bits of an address in it are an IPv4 address, reached through a translator. */
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96');

/**
 * Whether an IP address is public: not private, loopback, link-local, shared, multicast, reserved, for documentation, or
 * of a tunnel (6to4, Teredo). For an IPv6 address that contains an IPv4 one (mapped, NAT64) the latter decides.
 * @see https://www.iana.org/assignments/iana-ipv4-special-registry https://www.iana.org/assignments/iana-ipv6-special-registry
 */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0) return false;
  const address = ipaddr.process(text);
  if (address.kind() === 'ipv4') return address.range() === 'unicast';
  if (address.match(NAT64)) {
    return ipaddr.fromByteArray(address.toByteArray().slice(12)).range() === 'unicast';
  }
  return address.range() === 'unicast' && address.match(GLOBAL_UNICAST);
}
