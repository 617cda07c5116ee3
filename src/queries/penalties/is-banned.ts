import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { penalties } from '../../db/schema/penalties.ts';
import { statusCondition, typeCondition } from './filter.ts';

/** An active ban of a player at the placeholder `now`, in a form that can use the index of active penalties. */
export function activeBanOf(player: SQLWrapper): SQL {
  return sql`${penalties.playerSteamId} = ${player} and ${typeCondition(['ban'])} and ${statusCondition('ACTIVE')}`;
}
