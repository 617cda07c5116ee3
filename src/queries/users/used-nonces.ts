import type { Db } from '../../db/client.ts';
import { usedNonces } from '../../db/schema/accounts.ts';

/**
 * Claims a value that may be used once; false when it was used before. Of two concurrent attempts, in any processes,
 * exactly one succeeds.
 * @param expiresAt after this the value is invalid anyway, so that the row may be deleted.
 */
export async function claimNonce(db: Db, nonce: string, expiresAt: Date): Promise<boolean> {
  const claimed = await db
    .insert(usedNonces)
    .values({ nonce, expiresAt })
    .onConflictDoNothing()
    .returning({ nonce: usedNonces.nonce });
  return claimed.length === 1;
}
