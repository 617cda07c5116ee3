import type { Logger } from 'pino';

/**
 * Calls every listener with what was read from the database. When one throws, that is logged, and the others are still
 * called.
 * @param what the listeners were told, for the log.
 */
export function notifyAll<T>(
  listeners: Iterable<(value: T) => void>,
  value: T,
  { what, log }: { what: string; log: Logger },
): void {
  for (const listener of listeners) {
    try {
      listener(value);
    } catch (error) {
      log.error({ err: error }, `a listener failed on the new ${what}`);
    }
  }
}
