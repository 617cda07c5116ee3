import { and, asc, count, desc, eq, gt, inArray, isNull, lte, ne, not, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { appeals } from '../../db/schema/appeals.ts';
import { penalties } from '../../db/schema/penalties.ts';
import type { AppealTab } from '../../domain/appeal.ts';
import type { PenaltyOrigin } from '../../domain/panel.ts';
import { type PenaltyType, statusAt } from '../../domain/penalty.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { DAY_MS } from '../../domain/time.ts';
import type { ListedPenalty } from '../penalties/row.ts';
import { type Appeal, IS_APPEALED } from './appeals.ts';

/** An appeal of the staff's list. The penalty is null when it is no longer stored, or now of another player. */
export type ListedAppeal = { appeal: Appeal; penalty: (ListedPenalty & PenaltyOrigin) | null };

/** Appeals that wait for staff come first while their penalty ends within this time. */
const URGENT_MS = DAY_MS;

type QueueFilter = {
  /** The player whose own appeals are left out. */
  viewer: SteamId64;
  type?: PenaltyType | undefined;
  playerSteamId?: SteamId64 | undefined;
};

/** The number of appeals in each tab of the staff's list. */
export async function countAppeals(db: Db, filter: QueueFilter): Promise<Record<AppealTab, number>> {
  const rows = await db
    .select({ turn: appeals.waitsFor, amount: count() })
    .from(appeals)
    .where(filterCondition(filter))
    .groupBy(appeals.waitsFor);
  const counts: Record<AppealTab, number> = { staff: 0, player: 0, lift: 0, decided: 0 };
  for (const { turn, amount } of rows) counts[turn ?? 'decided'] = amount;
  return counts;
}

type Range = { limit: number; offset: number };

/**
 * Some appeals of a tab: the longest wait first, or the newest decision. Those for staff begin with appeals whose
 * penalty ends within a day, the soonest first.
 */
export async function listAppeals(
  db: Db,
  tab: AppealTab,
  { limit, offset, now, ...filter }: QueueFilter & Range & { now: Date },
): Promise<ListedAppeal[]> {
  const isInTab = and(
    tab === 'decided' ? isNull(appeals.waitsFor) : eq(appeals.waitsFor, tab),
    filterCondition(filter),
  );
  if (tab !== 'staff') return loadAppeals(db, await listIds(db, tab, isInTab, { limit, offset }), now);
  const endsSoon = and(
    IS_APPEALED,
    eq(penalties.status, 'ACTIVE'),
    gt(penalties.endsAt, now),
    lte(penalties.endsAt, new Date(now.getTime() + URGENT_MS)),
  );
  const urgent = await db
    .select({ id: appeals.id })
    .from(appeals)
    .innerJoin(penalties, endsSoon)
    .where(isInTab)
    .orderBy(asc(penalties.endsAt), asc(appeals.id));
  const ids = urgent.slice(offset, offset + limit).map(({ id }) => id);
  const isOther = not(sql`exists (select from ${penalties} where ${endsSoon})`);
  const rest = { limit: limit - ids.length, offset: Math.max(0, offset - urgent.length) };
  if (rest.limit > 0) ids.push(...(await listIds(db, tab, and(isInTab, isOther), rest)));
  return loadAppeals(db, ids, now);
}

/** Finds the page in the order of an index, before any penalty is read. */
async function listIds(
  db: Db,
  tab: AppealTab,
  where: SQL | undefined,
  { limit, offset }: Range,
): Promise<number[]> {
  const order =
    tab === 'decided'
      ? [desc(appeals.decidedAt), desc(appeals.id)]
      : [asc(appeals.waitingSince), asc(appeals.id)];
  const rows = await db
    .select({ id: appeals.id })
    .from(appeals)
    .where(where)
    .orderBy(...order)
    .limit(limit)
    .offset(offset);
  return rows.map(({ id }) => id);
}

async function loadAppeals(db: Db, ids: readonly number[], now: Date): Promise<ListedAppeal[]> {
  const rows = await selectListed(db, inArray(appeals.id, [...ids]), now);
  const byId = new Map(rows.map((row) => [row.appeal.id, row]));
  return ids.map((id) => byId.get(id)).filter((row) => row !== undefined);
}

/** All appeals of a player, or those against one of their penalties, the newest first. */
export function listAppealsWithPenalties(
  db: Db,
  { playerSteamId, penaltyId }: { playerSteamId: SteamId64; penaltyId?: number },
  now: Date,
): Promise<ListedAppeal[]> {
  const isAgainst = penaltyId === undefined ? undefined : eq(appeals.penaltyId, penaltyId);
  return selectListed(db, and(eq(appeals.playerSteamId, playerSteamId), isAgainst), now);
}

async function selectListed(db: Db, where: SQL | undefined, now: Date): Promise<ListedAppeal[]> {
  const rows = await db
    .select({ appeal: appeals, penalty: penalties })
    .from(appeals)
    .leftJoin(penalties, IS_APPEALED)
    .where(where)
    .orderBy(desc(appeals.id));
  return rows.map(({ appeal, penalty }) => ({
    appeal,
    penalty: penalty && { ...penalty, status: statusAt(penalty.status, penalty.endsAt, now) },
  }));
}

function filterCondition({ viewer, type, playerSteamId }: QueueFilter): SQL | undefined {
  return and(
    ne(appeals.playerSteamId, viewer),
    playerSteamId === undefined ? undefined : eq(appeals.playerSteamId, playerSteamId),
    // Looked up one by one: for a join, the planner reads all penalties.
    type && sql`(select ${penalties.type} from ${penalties} where ${IS_APPEALED}) = ${type}`,
  );
}
