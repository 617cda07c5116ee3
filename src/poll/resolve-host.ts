import { isIP } from 'node:net';
import { dns } from 'bun';
import { withTimeLimit } from '../runtime/time-limit.ts';
import { QueryFailure } from './query-failure.ts';

/**
 * The address of a host, preferably IPv4. Resolved by c-ares: while a name server does not respond, the system's
 * resolver would occupy one of the few threads that also read files.
 * @throws {QueryFailure} `host-unknown`, after `timeoutMs` at the latest.
 */
export async function resolveHost(host: string, { timeoutMs }: { timeoutMs: number }): Promise<string> {
  if (isIP(host)) return host;
  try {
    const found = await withTimeLimit(dns.lookup(host, { backend: 'c-ares' }), timeoutMs);
    const chosen = found.find(({ family }) => family === 4) ?? found[0];
    if (chosen) return chosen.address;
  } catch (cause) {
    throw new QueryFailure('host-unknown', { cause });
  }
  throw new QueryFailure('host-unknown');
}
