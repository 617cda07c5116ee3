import { access, constants, realpath } from 'node:fs/promises';
import { errorCode, Unavailable } from '../../domain/errors.ts';
import type { SourceDatabase, SourceRow } from './tables.ts';

/** A query for the worker. */
export type SqliteRequest = {
  path: string;
  statement: string;
  parameters: readonly (string | number)[];
};

/** The rows are JSON, because a string is passed between threads faster than thousands of objects. */
export type SqliteResponse = { rows: string } | { failure: string };

/**
 * Opens an SQLite file read-only, while a game server may be writing to it. It is read in a worker thread: neither a
 * long read nor a locked file blocks this process.
 * @throws {Unavailable} when the file is missing, is not a database, or is locked by another process for five seconds.
 */
export async function openSqliteSource(path: string): Promise<SourceDatabase> {
  await access(path, constants.R_OK).catch((error: unknown) => {
    const isMissing = errorCode(error) === 'ENOENT';
    throw outage(path, isMissing ? 'there is no such file' : 'this user may not read it');
  });
  const worker = new Worker(new URL('./sqlite.worker.ts', import.meta.url));
  /** In the order of their requests, in which the worker responds. */
  const pending: PromiseWithResolvers<SourceRow[]>[] = [];
  let ending: string | undefined;

  const end = (reason: string): void => {
    ending ??= reason;
    for (const { reject } of pending.splice(0)) reject(outage(path, ending));
    worker.terminate();
  };
  worker.addEventListener('message', ({ data }: MessageEvent<SqliteResponse>) => {
    const response = pending.shift();
    if ('rows' in data) response?.resolve(JSON.parse(data.rows));
    else response?.reject(outage(path, data.failure));
  });
  worker.addEventListener('error', ({ message }) => end(message));
  worker.addEventListener('close', () => end('its worker thread ended'));

  async function select(
    statement: string,
    parameters: readonly (string | number)[] = [],
  ): Promise<SourceRow[]> {
    if (ending !== undefined) throw outage(path, ending);
    const response = Promise.withResolvers<SourceRow[]>();
    pending.push(response);
    worker.postMessage({ path, statement, parameters } satisfies SqliteRequest);
    return response.promise;
  }

  try {
    await select('select count(*) from sqlite_master');
    return {
      kind: 'sqlite',
      address: await realpath(path),
      select,
      async listColumns(table) {
        const rows = await select('select name from pragma_table_info(?)', [table]);
        return new Map(rows.map(({ name }) => [(name ?? '').toLowerCase(), '']));
      },
      close: async () => end('it was closed'),
    };
  } catch (error) {
    end('it was never open');
    throw error;
  }
}

function outage(path: string, reason: string): Unavailable {
  return new Unavailable(`Cannot read sqlite:${path}: ${reason}`);
}
