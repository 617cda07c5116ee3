import type { Logger } from 'pino';
import type { Connection } from './client.ts';

/**
 * Tables whose changes are sent to every process, by triggers in the migrations. `users` is sent only for flags, blocks and
 * links; `webhooks` not for delivery progress. `pending_lifts` is sent by `queries/penalties/lifts.ts` when a mirror has a lift
 * to read. `erasures` is not a table: it is sent when somebody's penalties and their events have become anonymous.
 */
type ChangedTable =
  | 'servers'
  | 'server_snapshots'
  | 'api_tokens'
  | 'round_sounds'
  | 'users'
  | 'penalty_events'
  | 'webhooks'
  | 'erasures'
  | 'pending_lifts';

export type Changes = {
  /** Calls back after a change of the table, and after each reconnection: a NOTIFY may have been missed. */
  onChange: (table: ChangedTable, listener: () => void) => void;
  stop: () => Promise<void>;
};

/** Subscribes to changes with LISTEN; the driver subscribes again after an outage. */
export async function listenForChanges(connection: Connection, log: Logger): Promise<Changes> {
  const listeners = new Map<string, Set<() => void>>();
  const notify = (table: string) => {
    for (const listener of listeners.get(table) ?? []) listener();
  };
  const subscription = connection.listen('changed', notify, () => {
    for (const table of listeners.keys()) notify(table);
  });
  subscription.catch((error) => log.warn({ err: error }, 'cannot listen for changes yet'));
  await subscription.catch(() => undefined);
  return {
    onChange: (table, listener) => {
      const set = listeners.get(table) ?? new Set();
      listeners.set(table, set.add(listener));
    },
    stop: async () => {
      listeners.clear();
      await subscription.then((meta) => meta.unlisten()).catch(() => undefined);
    },
  };
}

/**
 * Calls every listener with what was read from the database. When one throws, that is logged, and the others are still
 * called.
 * @param what the listeners were told, for the log.
 */
export function notifyAll<T extends unknown[]>(
  listeners: Iterable<(...values: T) => void>,
  values: T,
  { what, log }: { what: string; log: Logger },
): void {
  for (const listener of listeners) {
    try {
      listener(...values);
    } catch (error) {
      log.error({ err: error }, `a listener failed on the new ${what}`);
    }
  }
}
