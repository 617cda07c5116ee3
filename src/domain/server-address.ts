import { InvalidInput } from './errors.ts';

/** Where a game server is reached; `host` is a name, IPv4, or IPv6 without brackets. */
export type ServerAddress = { host: string; port: number };

/** Splits `[2001:db8::1]:27015` and `host:27015` into host and port; undefined for anything else. */
export function tryParseServerAddress(address: string): ServerAddress | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):([0-9]{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host && port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

/** The same as {@link tryParseServerAddress}. @throws {InvalidInput} for anything else. */
export function parseServerAddress(address: string): ServerAddress {
  const serverAddress = tryParseServerAddress(address);
  if (serverAddress) return serverAddress;
  throw new InvalidInput(
    `address ${JSON.stringify(address.slice(0, 128))} isn't valid: use HOST:PORT, such as play.example.org:27015 or [2001:db8::1]:27015`,
  );
}

/** `HOST:PORT`, an IPv6 address in brackets. */
export function formatServerAddress({ host, port }: { host: string; port: number | string }): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
