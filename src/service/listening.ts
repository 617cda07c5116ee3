import type { Server } from 'bun';
import { type HotRoutes, listen } from '../../api/http/listen.ts';
import { type PortSetting, toListenFailure } from '../runtime/listen-failure.ts';
import { withTimeLimit } from '../runtime/time-limit.ts';
import type { Context } from './context.ts';

/** The part of the stop limit that is left for closing the connections of requests that are still running. */
const CLOSE_MS = 500;

/**
 * Serves an app until the service stops.
 * @returns the port.
 * @throws {InvalidInput} one line about a port that cannot be opened.
 */
export function serve(
  {
    config: { host },
    log,
    onStopPart,
    isStopping,
  }: Pick<Context, 'config' | 'log' | 'onStopPart' | 'isStopping'>,
  app: Parameters<typeof listen>[0],
  {
    setting,
    port,
    maxBodyBytes,
    hotRoutes,
  }: { setting: PortSetting; port: number; maxBodyBytes: number; hotRoutes?: HotRoutes },
): number {
  try {
    const server = listen(app, { host, port, maxBodyBytes, hotRoutes, log, isStopping });
    onStopPart('HTTP', (limitMs) => close(server, limitMs), { serves: true });
    return server.port ?? port;
  } catch (error) {
    throw toListenFailure(error, { setting, host, port });
  }
}

/** Lets running requests finish, then closes the remaining connections. */
async function close(server: Server<unknown>, limitMs: number): Promise<void> {
  try {
    await withTimeLimit(server.stop(), limitMs - CLOSE_MS);
  } catch {
    await withTimeLimit(server.stop(true), CLOSE_MS).catch(() => undefined);
  }
}
