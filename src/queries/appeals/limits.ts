import { eq, sql } from 'drizzle-orm';
import type { Db, Tx } from '../../db/client.ts';
import { appeals, erasedAppeals } from '../../db/schema/appeals.ts';
import type { EarlierAppeal } from '../../domain/appeal.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { findHash } from '../personal-data/tombstones.ts';

/** All appeals of a player that limits count, also those that were deleted with an earlier account. */
export async function listEarlierAppeals(db: Db | Tx, steamId64: SteamId64): Promise<EarlierAppeal[]> {
  const { penaltyId, state, openedAt, decidedAt } = appeals;
  const own = await db
    .select({ penaltyId, state, openedAt, decidedAt })
    .from(appeals)
    .where(eq(appeals.playerSteamId, steamId64));
  return [...own, ...(await listErasedAppeals(db, steamId64))];
}

/** What limits remember of a player's appeals that were deleted with their account. */
export async function listErasedAppeals(db: Db | Tx, steamId64: SteamId64): Promise<EarlierAppeal[]> {
  const hash = await findHash(db, steamId64);
  if (hash === undefined) return [];
  const { penaltyId, state, openedAt, decidedAt } = erasedAppeals;
  return db
    .select({ penaltyId, state, openedAt, decidedAt })
    .from(erasedAppeals)
    .where(eq(erasedAppeals.idHash, hash));
}

/**
 * Deletes all appeals of a player, and remembers what limits count of them; `retention.ts` forgets it.
 * @param tx a transaction that has saved the player's tombstone.
 * @param options.withPenalties whether their penalties became anonymous, so that no limit of a penalty remains.
 */
export async function eraseAppeals(
  tx: Tx,
  steamId64: SteamId64,
  { withPenalties }: { withPenalties: boolean },
): Promise<void> {
  const idHash = await findHash(tx, steamId64);
  const penaltyId = withPenalties
    ? sql`null::bigint`
    : sql`case when state in ('accepted', 'denied') then penalty_id end`;
  const state = sql`case state when 'undecided' then 'closed' else state end`;
  await tx.execute(sql`
    insert into erased_appeals (id_hash, penalty_id, state, opened_at, decided_at)
    select id_hash, penalty_id, state, opened_at, decided_at from (
      select ${idHash}::text as id_hash, ${penaltyId} as penalty_id, ${state} as state, opened_at, decided_at
      from appeals where player_steamid = ${steamId64}
    ) as deleted
    where penalty_id is not null or opened_at > now() - interval '1 day'`);
  await tx.delete(appeals).where(eq(appeals.playerSteamId, steamId64));
  if (withPenalties && idHash !== undefined) {
    await tx.update(erasedAppeals).set({ penaltyId: null }).where(eq(erasedAppeals.idHash, idHash));
  }
}
