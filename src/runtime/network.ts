/**
 * Normalizes an address or a CIDR network: IPv4 that is written as IPv6 (`::ffff:10.0.0.0/104`) becomes IPv4. Undefined
 * for anything else, also for IPv4 with leading zeros, which some parsers read as octal.
 */
export function tryParseNetwork(text: string): string | undefined {
  const [written = '', bits, ...rest] = text.split('/');
  const address = written.includes(':') ? tryParseIpv6(written) : tryParseIpv4(written);
  if (address === undefined || rest.length > 0) return undefined;
  if (bits === undefined) return address;
  if (!/^[0-9]{1,3}$/.test(bits)) return undefined;
  // A mapped IPv4 address is the last 32 of 128 bits.
  const isMapped = written.includes(':') && !address.includes(':');
  const length = Number(bits) - (isMapped ? 96 : 0);
  const isLength = length >= 0 && length <= (address.includes(':') ? 128 : 32);
  return isLength ? `${address}/${length}` : undefined;
}

function tryParseIpv4(text: string): string | undefined {
  return URL.parse(`http://${text}`)?.hostname === text && /^[0-9.]+$/.test(text) ? text : undefined;
}

function tryParseIpv6(text: string): string | undefined {
  const address = URL.parse(`http://[${text}]`)?.hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(address ?? '');
  if (!mapped) return address;
  const [high, low] = [mapped[1], mapped[2]].map((group) => Number.parseInt(group ?? '', 16));
  return [high, low].flatMap((group = 0) => [group >> 8, group & 255]).join('.');
}
