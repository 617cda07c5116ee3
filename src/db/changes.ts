import type { Logger } from 'pino';
import type { Connection } from './client.ts';

/** Tables whose changes are told to every process (migration 0001). */
export type ChangedTable = 'servers' | 'server_snapshots' | 'api_tokens' | 'round_sounds';

export type Changes = {
  /** Calls back after a change of the table, and after every time the connection was lost: something may have been missed. */
  onChange: (table: ChangedTable, listener: () => void) => void;
  stop: () => Promise<void>;
};

/** Hears of changes by LISTEN; the driver listens again by itself after an outage. */
export async function listenForChanges(connection: Connection, log: Logger): Promise<Changes> {
  const listeners = new Map<string, Set<() => void>>();
  const tell = (table: string) => {
    for (const listener of listeners.get(table) ?? []) listener();
  };
  const subscription = connection.listen('changed', tell, () => {
    for (const table of listeners.keys()) tell(table);
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
