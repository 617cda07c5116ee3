import type { Db } from '../../db/client.ts';
import { usedNonces } from '../../db/schema/accounts.ts';

/**
 * Uses up a value that may be used once; false when it was used before. Of two attempts at the same time exactly one
 * wins, whichever process they are in.
 * @param expiresAt from when on the value would be refused anyway, so that it may be forgotten.
 */
export async function claimNonce(db: Db, nonce: string, expiresAt: Date): Promise<boolean> {
  const claimed = await db
    .insert(usedNonces)
    .values({ nonce, expiresAt })
    .onConflictDoNothing()
    .returning({ nonce: usedNonces.nonce });
  return claimed.length === 1;
}
