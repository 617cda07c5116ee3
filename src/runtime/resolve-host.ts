import { isIP } from 'node:net';
import { dns } from 'bun';
import { withTimeLimit } from './time-limit.ts';

export type HostAddress = { address: string; family: number };

/**
 * The addresses of a host, at least one. Resolved by c-ares: while a name server does not respond, the system's
 * resolver would occupy one of the few threads that also read files.
 * @throws when it has none, or after `timeoutMs`.
 */
export async function resolveHost(
  host: string,
  { timeoutMs }: { timeoutMs: number },
): Promise<HostAddress[]> {
  const family = isIP(host);
  if (family !== 0) return [{ address: host, family }];
  const addresses = await withTimeLimit(dns.lookup(host, { backend: 'c-ares' }), timeoutMs);
  if (addresses.length === 0) throw new Error(`${host} has no address`);
  return addresses;
}
