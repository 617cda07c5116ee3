import type { Command } from 'commander';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { type Database, openDatabase } from '../db/client.ts';
import { startEmbeddedPostgres } from '../db/embedded.ts';
import { migrateDatabase } from '../db/migrate.ts';
import { toOpenFailure } from '../db/open-failure.ts';

/** What a command works with; the database is opened by the first command that asks for it. */
export type Session = {
  config: () => Config;
  log: () => Logger;
  database: () => Promise<Database>;
  close: () => Promise<void>;
};

/** @param load reads configuration when it is first needed, so that help works with a broken one. */
export function createSession(load: () => { config: Config; log: Logger }): Session {
  let loaded: ReturnType<typeof load> | undefined;
  const closers: (() => Promise<void>)[] = [];
  const closing = new AbortController();
  let opened: Promise<Database> | undefined;
  const get = () => {
    loaded ??= load();
    return loaded;
  };

  async function open(): Promise<Database> {
    const { config, log } = get();
    let url = config.databaseUrl;
    if (url === undefined) {
      const embedded = await startEmbeddedPostgres({ dataDir: config.dataDir, log });
      closers.push(embedded.stop);
      url = embedded.url;
    }
    try {
      await migrateDatabase(url, { log, signal: closing.signal });
    } catch (error) {
      throw toOpenFailure(error, { url, isEmbedded: config.databaseUrl === undefined });
    }
    const database = openDatabase(url, { max: 4 });
    closers.push(() => database.close({ timeoutSeconds: 2 }));
    return database;
  }

  return {
    config: () => get().config,
    log: () => get().log,
    database: () => {
      opened ??= open();
      return opened;
    },
    close: async () => {
      // An interrupted command may still be opening it, or waiting for another process.
      closing.abort();
      await opened?.catch(() => undefined);
      for (const close of closers.splice(0).reverse()) await close();
    },
  };
}

/** Prints a result: as JSON with `--json`, else in words. */
export function print(command: Command, value: unknown, words: string): void {
  const { json } = command.optsWithGlobals<{ json?: boolean }>();
  console.log(json ? JSON.stringify(value, null, 2) : words);
}

/** Rows in columns as wide as their content; `none` when there are no rows. */
export function toTable(header: string[], rows: string[][], none: string): string {
  if (rows.length === 0) return none;
  const widths = header.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column] ?? '')].map((cell) => Bun.stringWidth(cell))),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => cell + ' '.repeat(Math.max((widths[column] ?? 0) - Bun.stringWidth(cell), 0)))
      .join('  ')
      .trimEnd();
  return [header, ...rows].map(line).join('\n');
}
