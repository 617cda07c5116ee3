import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { type DatabaseAddress, openAddress, openMigratedDatabase } from '../db/open.ts';
import type { Config } from '../runtime/config.ts';

/** Where commands write. */
export type Output = {
  /** Whether a person reads what is printed. */
  isTerminal: boolean;
  /** Prints lines of a result. */
  print: (lines: string) => void;
  /** Prints lines that belong to no result. */
  warn: (lines: string) => void;
  /** Where progress is shown, beside warnings. */
  progress: { isTTY?: boolean; write: (text: string) => unknown };
};

/** The dependencies of commands; configuration and database are opened when first used. */
export type Session = {
  output: Output;
  /** Makes the command end with exit code 1 after what it has printed. */
  fail: () => void;
  hasFailed: () => boolean;
  config: () => Config;
  log: () => Logger;
  database: () => Promise<Database>;
  /** The address of the database, which is neither migrated nor connected to. */
  address: () => Promise<DatabaseAddress>;
  /** Aborted when the command is interrupted. */
  signal: AbortSignal;
  /** Makes `close` wait for work that uses the database; the signal asks it to end. */
  waitFor: <T>(work: Promise<T>) => Promise<T>;
  close: () => Promise<void>;
};

/** @param load reads the configuration when first needed, so that `--help` works with an invalid one. */
export function createSession(load: () => { config: Config; log: Logger }, output: Output): Session {
  let hasFailed = false;
  let loaded: ReturnType<typeof load> | undefined;
  const closers: (() => Promise<void>)[] = [];
  const closing = new AbortController();
  let opened: Promise<Database> | undefined;
  let addressed: Promise<DatabaseAddress> | undefined;
  const get = () => {
    loaded ??= load();
    return loaded;
  };

  async function open(): Promise<Database> {
    const { config, log } = get();
    const { database } = await openMigratedDatabase(config, {
      log,
      onClose: (_, close) => closers.push(close),
      signal: closing.signal,
      pool: { max: 4 },
    });
    return database;
  }

  return {
    output,
    fail: () => {
      hasFailed = true;
    },
    hasFailed: () => hasFailed,
    config: () => get().config,
    log: () => get().log,
    database: () => {
      opened ??= open();
      return opened;
    },
    address: () => {
      const { config, log } = get();
      addressed ??= openAddress(config, { log, onClose: (_, close) => closers.push(close) });
      return addressed;
    },
    signal: closing.signal,
    waitFor: (work) => {
      closers.push(async () => void (await work.catch(() => undefined)));
      return work;
    },
    close: async () => {
      // An interrupted command may still be opening the database, or waiting for another process.
      closing.abort();
      await opened?.catch(() => undefined);
      await addressed?.catch(() => undefined);
      for (const close of closers.splice(0).reverse()) await close();
    },
  };
}
