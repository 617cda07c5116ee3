import type { Config } from './config.ts';
import { InvalidInput } from './errors.ts';

/** One line that names the variable, for a port that cannot be had; any other error as it is. */
export function toListenFailure(error: unknown, { host, port }: Pick<Config, 'host' | 'port'>): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'EADDRINUSE') {
    return new InvalidInput(`PORT=${port} is taken on ${host}: stop what listens there or give another PORT`);
  }
  if (code === 'EACCES') return new InvalidInput(`PORT=${port} needs more rights: give a PORT above 1023`);
  return error;
}
