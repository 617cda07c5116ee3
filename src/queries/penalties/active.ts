import { sql } from 'drizzle-orm';
import type { Reads } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { arrayLiteral, columnsOf, hiddenPlaceholder, selectFrom, selectionOf } from '../../db/select.ts';
import { byPenaltyType } from '../../domain/penalty.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import { countsByType, type PenaltyCounts, readCounts, statusCondition } from './filter.ts';
import { comparePenalties, LISTED, NEWEST_FIRST, type Penalty, readPenalty } from './row.ts';

/** A player's penalties that are ACTIVE at some moment. */
export type ActivePenalties = {
  /** Of all of them. */
  counts: PenaltyCounts;
  /** The newest, newest first. */
  newest: Penalty[];
};

const COUNTED = selectionOf({ player: penalties.playerSteamId, counts: countsByType() });
const SELECTED = selectionOf(columnsOf('listed', LISTED));

type Options = { limit: number; now: Date };

/**
 * The active penalties of each of these players at `now`; players without any are absent.
 * @param players without the unknown player, whose penalties are too many to count.
 * @param limit the most penalties per player.
 */
export async function listActivePenalties(
  db: Reads,
  players: readonly SteamId64[],
  { limit, now }: Options,
): Promise<Map<SteamId64, ActivePenalties>> {
  if (players.includes(UNKNOWN_STEAM_ID)) throw new Error('unknown players have no list of their own');
  const most = players.length * limit;
  const found = await selectFrom(db)(
    'active penalties of players',
    () => sql`
      select ${LISTED.columns} from ${penalties}
      where ${penalties.playerSteamId} = any(${hiddenPlaceholder('players', 'bigint[]')}::bigint[]) and ${statusCondition('ACTIVE')}
      limit ${hiddenPlaceholder('most', 'bigint')}`,
    { players: arrayLiteral(players), most: most + 1, now: now.toISOString() },
  );
  if (found.length > most) return listManyActivePenalties(db, players, { limit, now });
  const active = found.map((row) => readPenalty(row, LISTED.at, now)).toSorted(comparePenalties('-created'));
  const byPlayer = Map.groupBy(active, ({ playerSteamId }) => playerSteamId);
  return new Map(
    [...byPlayer].map(([player, all]) => [
      player,
      { counts: countPenalties(all), newest: all.slice(0, limit) },
    ]),
  );
}

/**
 * The same for lists in which somebody has more than the limit: reads only the newest rows of each player. This is
 * rare, and slower for the others.
 */
async function listManyActivePenalties(
  db: Reads,
  players: readonly SteamId64[],
  { limit, now }: Options,
): Promise<Map<SteamId64, ActivePenalties>> {
  const found = await selectFrom(db)(
    'newest active penalties of players',
    () => sql`
      select ${SELECTED.columns} from unnest(${hiddenPlaceholder('players', 'bigint[]')}) as asked(player)
      cross join lateral (
        select ${LISTED.columns} from ${penalties}
        where ${penalties.playerSteamId} = asked.player and ${statusCondition('ACTIVE')}
        order by ${NEWEST_FIRST} limit ${hiddenPlaceholder('limit', 'bigint')} + 1
      ) as listed order by listed."createdAt" desc, listed.id desc`,
    { players: arrayLiteral(players), limit, now: now.toISOString() },
  );
  const byPlayer = Map.groupBy(
    found.map((row) => readPenalty(row, SELECTED.at, now)),
    ({ playerSteamId }) => playerSteamId,
  );
  const cut = [...byPlayer].filter(([, newest]) => newest.length > limit).map(([player]) => player);
  const counted = cut.length === 0 ? undefined : await countActivePenalties(db, cut, now);
  return new Map(
    [...byPlayer].map(([player, newest]) => [
      player,
      { counts: counted?.get(player) ?? countPenalties(newest), newest: newest.slice(0, limit) },
    ]),
  );
}

async function countActivePenalties(
  db: Reads,
  players: readonly SteamId64[],
  now: Date,
): Promise<Map<string, PenaltyCounts>> {
  const rows = await selectFrom(db)(
    'count of active penalties of players',
    () => sql`
      select ${COUNTED.columns} from ${penalties}
      where ${penalties.playerSteamId} = any(${hiddenPlaceholder('players', 'bigint[]')}::bigint[]) and ${statusCondition('ACTIVE')}
      group by ${penalties.playerSteamId}`,
    { players: arrayLiteral(players), now: now.toISOString() },
  );
  const { at } = COUNTED;
  return new Map(rows.map((row) => [String(row[at.player]), readCounts(row[at.counts])]));
}

function countPenalties(all: readonly Penalty[]): PenaltyCounts {
  return byPenaltyType((type) => all.filter((penalty) => penalty.type === type).length);
}
