import { type SQL, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { columnsOf, selectFrom, selectionOf, unseen } from '../../db/select.ts';
import { PENALTY_TYPES, type PenaltyType } from '../../domain/penalty.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import { countOfType, countsBy, type PenaltyCounts, statusCondition } from './filter.ts';
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
 * What is in force against each of these players at `now`; who has nothing is absent.
 * @param players known ones: the penalties of the unknown player are too many to be counted.
 * @param limit penalties for each player at most.
 */
export async function listActivePenalties(
  db: Db,
  players: readonly SteamId64[],
  { limit, now }: { limit: number; now: Date },
): Promise<Map<SteamId64, ActivePenalties>> {
  if (players.includes(UNKNOWN_STEAM_ID)) throw new Error('unknown players have no list of their own');
  const found = await selectFrom(db)(
    'active penalties of players',
    () => sql`
      select ${SELECTED.columns} from (
        select ${LISTED.columns}, row_number() over (of_player order by ${NEWEST_FIRST}) as place,
          concat_ws(' ', ${sql.join(PENALTY_TYPES.map(countOfPlayer), sql`, `)}) as counts
        from ${penalties}
        where ${penalties.playerSteamId} = any(${unseen('players', 'bigint[]')}::bigint[]) and ${statusCondition('ACTIVE')}
        window of_player as (partition by ${penalties.playerSteamId})
      ) as listed
      where place <= ${unseen('limit', 'bigint')} order by listed."createdAt" desc, listed.id desc`,
    { players: `{${players.join(',')}}`, limit, now: now.toISOString() },
  );
  const byPlayer = new Map<SteamId64, ActivePenalties>();
  for (const row of found) {
    const penalty = readPenalty(row, SELECTED.at, now);
    const known = byPlayer.get(penalty.playerSteamId);
    if (known) known.newest.push(penalty);
    else
      byPlayer.set(penalty.playerSteamId, { counts: readCounts(row[SELECTED.at.counts]), newest: [penalty] });
  }
  return byPlayer;
}

function countOfPlayer(type: PenaltyType): SQL {
  return sql`${countOfType(type)} over of_player`;
}

function readCounts(text: unknown): PenaltyCounts {
  const counts = String(text).split(' ').map(Number);
  return countsBy((type) => counts[PENALTY_TYPES.indexOf(type)] ?? 0);
}
