import type { Server } from 'bun';
import { type App, type ListenOptions, listen } from '../../api/http/listen.ts';
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
  { config, log, onStopPart, isStopping }: Context,
  app: App,
  { setting, ...options }: { setting: PortSetting } & Omit<ListenOptions, 'host' | 'log' | 'isStopping'>,
): number {
  const { host } = config;
  const { port } = options;
  try {
    const server = listen(app, { ...options, host, log, isStopping });
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
