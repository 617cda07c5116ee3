import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { selectFrom } from '../../db/select.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { filterCondition, filterValues, statusCondition, typeCondition } from './filter.ts';

/** Whether a player has an active ban at `now`. */
export async function isBanned(db: Db, playerSteamId: SteamId64, now: Date): Promise<boolean> {
  const found = await selectFrom(db)(
    'is banned',
    // The status is a literal, so that the planner can use the partial index of active penalties, which has all columns.
    () =>
      sql`select 1 from ${penalties}
        where ${filterCondition({ playerSteamId, types: ['ban'], status: 'ACTIVE' })} limit 1`,
    filterValues({ playerSteamId }, now),
  );
  return found.length > 0;
}

/** An active ban of a player at the placeholder `now`, in a form that can use the index of active penalties. */
export function activeBanOf(player: SQLWrapper): SQL {
  return sql`${penalties.playerSteamId} = ${player} and ${typeCondition(['ban'])} and ${statusCondition('ACTIVE')}`;
}
