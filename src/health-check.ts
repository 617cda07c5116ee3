import { InvalidInput, Unavailable } from './domain/errors.ts';
import { type Config, parseConfig } from './runtime/config.ts';

/** The health check of the Docker image: exit code 0 while the service with this environment is ready, otherwise 1. */
try {
  await requireReady(readinessAddress(parseConfig(process.env)));
  process.exit(0);
} catch (error) {
  if (!(error instanceof InvalidInput || error instanceof Unavailable)) throw error;
  console.error(error.message);
  process.exit(1);
}

/** @throws {Unavailable} */
async function requireReady(address: string): Promise<void> {
  // Docker gives every container the HTTP_PROXY of its configuration.
  const response = await fetch(address, { proxy: false }).catch((cause: unknown) => {
    throw new Unavailable(`${address} cannot be reached`, { cause });
  });
  if (!response.ok) throw new Unavailable(`${address} responded with status ${response.status}`);
}

function readinessAddress({ host, port, healthPort, roles }: Config): string {
  // Wildcard addresses: on some systems a client cannot connect to them.
  const reachable = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const authority = reachable.includes(':') ? `[${reachable}]` : reachable;
  return `http://${authority}:${roles.includes('api') ? port : healthPort}/readyz`;
}
