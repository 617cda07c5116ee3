import { withTimeLimit } from '../time-limit.ts';
import type { Database } from './client.ts';

const ANSWER_LIMIT_MS = 1000;

/** Asks the database for at most a second, one question at a time: one that hangs must not gather a heap of them. */
export function createDatabaseProbe({ connection }: Pick<Database, 'connection'>): () => Promise<boolean> {
  let asking: Promise<boolean> | undefined;
  const ask = async () => {
    try {
      await connection`select 1`;
      return true;
    } catch {
      return false;
    } finally {
      asking = undefined;
    }
  };
  return () => {
    asking ??= ask();
    return withTimeLimit(asking, ANSWER_LIMIT_MS).catch(() => false);
  };
}
