import { eq } from 'drizzle-orm';
import type { Db, Tx } from '../../db/client.ts';
import { appeals } from '../../db/schema/appeals.ts';
import type { EarlierAppeal } from '../../domain/appeal.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';

/** All appeals of a player that limits count. */
export function listEarlierAppeals(db: Db | Tx, steamId64: SteamId64): Promise<EarlierAppeal[]> {
  const { penaltyId, state, openedAt, decidedAt } = appeals;
  return db
    .select({ penaltyId, state, openedAt, decidedAt })
    .from(appeals)
    .where(eq(appeals.playerSteamId, steamId64));
}
