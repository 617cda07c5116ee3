import { sql } from 'drizzle-orm';
import type { Reads } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { arrayLiteral, columnsOf, hiddenPlaceholder, selectFrom, selectionOf } from '../../db/select.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { countsByType, type PenaltyCounts, readCounts, statusCondition } from './filter.ts';
import { LISTED, NEWEST_FIRST, type Penalty, readPenalty } from './row.ts';

/** A player's penalties that are ACTIVE at some moment. */
export type ActivePenalties = {
  /** Of all of them. */
  counts: PenaltyCounts;
  /** The newest, newest first. */
  newest: Penalty[];
};

const SELECTED = selectionOf({ ...columnsOf('listed', LISTED), counts: sql`listed.counts` });

/**
 * The active penalties of each of these players at `now`; players without any are absent.
 * @param limit the most penalties per player.
 */
export async function listActivePenalties(
  db: Reads,
  players: readonly SteamId64[],
  { limit, now }: { limit: number; now: Date },
): Promise<Map<SteamId64, ActivePenalties>> {
  const rows = await selectFrom(db)(
    'active penalties of players',
    () => sql`
      select ${SELECTED.columns} from (
        select ${LISTED.columns}, row_number() over (player order by ${NEWEST_FIRST}) as place,
          ${countsByType(penalties.type, sql`over player`)} as counts
        from ${penalties}
        where ${penalties.playerSteamId} = any(${hiddenPlaceholder('players', 'bigint[]')}::bigint[]) and ${statusCondition('ACTIVE')}
        window player as (partition by ${penalties.playerSteamId})
      ) as listed
      where place <= ${hiddenPlaceholder('limit', 'bigint')} order by place`,
    { players: arrayLiteral(players), limit, now: now.toISOString() },
  );
  const byPlayer = new Map<SteamId64, ActivePenalties>();
  for (const row of rows) {
    const penalty = readPenalty(row, SELECTED.at, now);
    const first = () => ({ counts: readCounts(row[SELECTED.at.counts]), newest: [] });
    byPlayer.getOrInsertComputed(penalty.playerSteamId, first).newest.push(penalty);
  }
  return byPlayer;
}
