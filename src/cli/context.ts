import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { lacksCluster } from '../db/embedded/data-folder.ts';
import { type DatabaseAddress, openAddress, openMigratedDatabase } from '../db/open.ts';
import { toDemoConfig } from '../demo/config.ts';
import { NotFound } from '../domain/errors.ts';
import { escapeUnprintable } from '../domain/text/escape-unprintable.ts';
import type { Config } from '../runtime/config.ts';
import { createLogger } from '../runtime/log.ts';
import { TOOL } from '../runtime/tool.ts';

/** Where commands write. */
export type Output = {
  /** Whether a person reads the output. */
  isTerminal: boolean;
  /** Prints lines of a result. */
  print: (lines: string) => void;
  /** Prints lines that belong to no result. */
  warn: (lines: string) => void;
  /** Where progress is shown, beside warnings. */
  progress: { isTTY?: boolean; write: (text: string) => unknown };
};

/** The dependencies of commands. */
export type Context = ReturnType<typeof createContext>;

/** The commands that only read: without a database they fail instead of creating one. */
const READING_COMMANDS = ['list', 'show', 'export', 'backup', 'recount'];

/** The exit code of a failure. */
export const FAILURE = 1;

/** Logs less than the service, unless configured otherwise. */
const DEFAULTS = { LOG_LEVEL: 'warn' };

/**
 * Opens configuration and database when they are first used, so that `--help` works with a configuration that is invalid.
 * @param program has the options `--json` and `--demo`.
 * @param configure reads the configuration, where it says nothing from these defaults.
 */
export function createContext(
  program: Command,
  { configure, output }: { configure: (defaults: Record<string, string>) => Config; output: Output },
) {
  const options = () => program.opts<{ json?: boolean; demo?: boolean }>();
  let onlyReads = false;
  program.hook('preAction', (_, command) => {
    onlyReads = READING_COMMANDS.includes(command.name());
  });
  let exitCode = 0;
  let settings: { config: Config; log: Logger } | undefined;
  const closers: (() => Promise<void>)[] = [];
  const closing = new AbortController();
  let database: Promise<Database> | undefined;
  let databaseAddress: Promise<DatabaseAddress> | undefined;

  function load(): { config: Config; log: Logger } {
    const configured = configure(DEFAULTS);
    const config = options().demo ? toDemoConfig(configured) : configured;
    if (options().demo && !existsSync(config.dataDir)) {
      throw new NotFound(
        `There is no demo in ${config.dataDir}: start it with \`bun run demo\`, or set the DATA_DIR it was started with`,
      );
    }
    return { config, log: createLogger(config.logLevel, 2) };
  }
  const get = () => {
    settings ??= load();
    return settings;
  };

  /** `DATA_DIR` may be relative to where the operator happens to be. */
  function requireCluster({ databaseUrl, dataDir }: Config): void {
    if (databaseUrl !== undefined || !lacksCluster(dataDir)) return;
    const folder = resolve(dataDir);
    if (onlyReads) {
      throw new NotFound(
        `There is no database in ${folder}: run this where the service runs, or set its DATA_DIR or DATABASE_URL`,
      );
    }
    output.warn(`Creating a new database in ${folder}`);
  }

  async function open(): Promise<Database> {
    const { config, log } = get();
    requireCluster(config);
    const result = await openMigratedDatabase(config, {
      log,
      onClose: (_, close) => closers.push(close),
      signal: closing.signal,
      pool: { max: 4 },
    });
    return result.database;
  }

  return {
    output,
    /**
     * Prints a result: as JSON with `--json`, otherwise as text. Names from other databases may contain what a terminal
     * would interpret: it is escaped, which does not change the meaning of JSON.
     */
    print: (value: unknown, words: string) => {
      const text = options().json ? JSON.stringify(value, null, 2) : words;
      output.print(text.split('\n').map(escapeUnprintable).join('\n'));
    },
    /** How this tool was called, for hints that people paste: one of the demo must not lead to the real data. */
    tool: () => (options().demo ? `${TOOL} --demo` : TOOL),
    /** Makes the command end with an exit code, 1 by default, after what it has printed. */
    fail: (code = FAILURE) => {
      exitCode = code;
    },
    exitCode: () => exitCode,
    config: () => get().config,
    log: () => get().log,
    database: () => {
      database ??= open();
      return database;
    },
    /** The address of the database, which is neither migrated nor connected to. */
    address: async () => {
      const { config, log } = get();
      requireCluster(config);
      databaseAddress ??= openAddress(config, { log, onClose: (_, close) => closers.push(close) });
      return databaseAddress;
    },
    /** Aborted when the command is interrupted. */
    signal: closing.signal,
    /** Makes `close` wait for work that uses the database; the signal asks it to end. */
    waitFor: <T>(work: Promise<T>) => {
      closers.push(async () => void (await work.catch(() => undefined)));
      return work;
    },
    close: async () => {
      // An interrupted command may still be opening the database, or waiting for another process.
      closing.abort();
      await Promise.allSettled([database, databaseAddress]);
      for (const close of closers.splice(0).reverse()) await close();
    },
  };
}
