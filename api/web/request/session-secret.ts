import { randomBytes } from 'node:crypto';
import type { Db } from '../../../src/db/client.ts';
import { findOrSaveSetting } from '../../../src/queries/settings.ts';

/** `SESSION_SECRET`, or one generated at the first start and stored in the database, so that all processes share it. */
export async function loadSessionSecret(db: Db, configured: string | undefined): Promise<string> {
  return configured ?? (await findOrSaveSetting(db, 'session_secret', randomBytes(32).toString('base64url')));
}
