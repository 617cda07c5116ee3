import { withTimeLimit } from '../../runtime/time-limit.ts';
import type { Database } from '../database.ts';

const RESPONSE_LIMIT_MS = 1000;

/** Checks within a second whether the database responds; one query at a time, so that they do not pile up while it hangs. */
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
    return withTimeLimit(asking, RESPONSE_LIMIT_MS).catch(() => false);
  };
}
