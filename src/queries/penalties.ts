import { and, asc, eq, inArray, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { retryVictim } from '../db/retry.ts';
import { penalties } from '../db/schema.ts';
import { type Select, selectFrom, selectFromSnapshot, unseen, type Values } from '../db/select.ts';
import { PENALTY_TYPES, type PenaltyStatus, type PenaltyType, statusAt } from '../penalty.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../steam-id.ts';
import {
  conditions,
  countsBy,
  isDue,
  type PenaltyCounts,
  type PenaltyFilter,
  shapeOf,
  values,
} from './penalty-filter.ts';
import { type DayRange, locatePage, readCounts, sumCounts } from './penalty-tallies.ts';

/** What a list shows of a penalty. */
const LISTED = {
  id: penalties.id,
  type: penalties.type,
  status: penalties.status,
  playerName: penalties.playerName,
  playerSteamId: penalties.playerSteamId,
  adminName: penalties.adminName,
  adminSteamId: penalties.adminSteamId,
  reason: penalties.reason,
  durationMinutes: penalties.durationMinutes,
  serverId: penalties.serverId,
  createdAt: penalties.createdAt,
  endsAt: penalties.endsAt,
  liftedAt: penalties.liftedAt,
  liftedByName: penalties.liftedByName,
  liftReason: penalties.liftReason,
};

export type Penalty = Pick<typeof penalties.$inferSelect, keyof typeof LISTED>;
export type PenaltyPage = {
  /** Newest first, with the status they have at `now`. */
  rows: Penalty[];
  /** All rows of the filter. */
  total: number;
  /** Rows of each type, by every filter but `types`. */
  counts: PenaltyCounts;
};

type PageOptions = {
  /** From 1. */
  page: number;
  perPage: number;
  /** The one clock reading that rows, total and counts are judged by. */
  now: Date;
};

/**
 * One page of penalties by `created` descending, then `id` descending, with exact total and counts.
 * A page past the end has no rows. Rows, total and counts are of one snapshot of the database.
 */
export async function listPenalties(
  db: Db,
  filter: PenaltyFilter,
  options: PageOptions,
): Promise<PenaltyPage> {
  return isCountedByTallies(filter) ? listByTallies(db, filter, options) : listByPlayer(db, filter, options);
}

/** Whether a player has an active ban at `now`. */
export async function isBanned(db: Db, playerSteamId: SteamId64, now: Date): Promise<boolean> {
  const found = await selectFrom(db)(
    'is banned',
    // The type is written out, so that the planner knows the index of active bans to hold the answer.
    () =>
      sql`select ${penalties.id} from ${penalties}
        where ${conditions({ playerSteamId, types: ['ban'], status: 'ACTIVE' })} limit 1`,
    values({ playerSteamId }, now),
  );
  return found.length > 0;
}

/** A clock that is ahead by less marks nothing that is not over. */
const MARK_AFTER = sql`interval '1 hour'`;

/**
 * Marks ACTIVE rows as EXPIRED that ended an hour ago or earlier by `now` and by the database's own clock alike, so that
 * few are left to be corrected for at each answer.
 * @param limit rows at most, in one statement.
 * @returns how many were marked.
 */
export async function markExpiredPenalties(db: Db, now: Date, limit = 5000): Promise<number> {
  const due = () =>
    db
      .select({ id: penalties.id })
      .from(penalties)
      .where(isDue(sql`least(${now.toISOString()}::timestamptz, now()) - ${MARK_AFTER}`))
      .orderBy(asc(penalties.endsAt));
  // Any update waits for other writers, an import perhaps: none is begun without need.
  if ((await due().limit(1)).length === 0) return 0;
  const marked = await retryVictim(() =>
    db
      .update(penalties)
      .set({ status: 'EXPIRED' })
      .where(and(inArray(penalties.id, due().limit(limit)), eq(penalties.status, 'ACTIVE')))
      .returning({ id: penalties.id }),
  );
  return marked.length;
}

/** Unknown players share one SteamID and may be many: alone they have tallies. Every other player's rows are few. */
function isCountedByTallies({ playerSteamId, serverId, adminSteamId }: PenaltyFilter): boolean {
  if (playerSteamId === undefined) return true;
  return playerSteamId === UNKNOWN_STEAM_ID && serverId === undefined && adminSteamId === undefined;
}

/** Counts and rows in one statement over the player's part of the index. */
async function listByPlayer(db: Db, filter: PenaltyFilter, { page, perPage, now }: PageOptions) {
  const { types: _, ...scope } = filter;
  const found = await selectFrom(db)(
    `penalties of player ${shapeOf(filter)}`,
    // The counts are one text, as they come with every row; without rows they come alone.
    () => sql`
      select listed.*, counted.counts from (
        select concat_ws(' ', ${sql.join(PENALTY_TYPES.map(countOf), sql`, `)}) as counts
        from ${penalties} where ${conditions(scope)}
      ) as counted left join (
        select ${LISTED_COLUMNS} from ${penalties} where ${conditions(filter)}
        order by ${NEWEST_FIRST} limit ${unseen('limit', 'bigint')} offset ${unseen('offset', 'bigint')}
      ) as listed on true order by listed.created_at desc, listed.id desc`,
    { ...values(filter, now), limit: perPage, offset: (page - 1) * perPage },
  );
  const counted = String(found[0]?.at(-1) ?? '').split(' ');
  const counts = countsBy((type) => Number(counted[PENALTY_TYPES.indexOf(type)] ?? 0));
  const rows = found.filter(([id]) => id !== null).map((row) => readPenalty(row, now));
  return { rows, counts, total: totalOf(counts, filter) };
}

function countOf(type: PenaltyType): SQL {
  return sql`count(*) filter (where ${penalties.type} = ${sql.raw(`'${type}'`)})`;
}

/** Counts from tallies, rows from the days that hold them; all of one snapshot. */
function listByTallies(db: Db, filter: PenaltyFilter, { page, perPage, now }: PageOptions) {
  return selectFromSnapshot(db, async (select) => {
    const ever = await readCounts(select, filter, now);
    const counts = sumCounts(ever, filter.status);
    const total = totalOf(counts, filter);
    const offset = (page - 1) * perPage;
    if (offset >= total) return { rows: [], counts, total };
    const range = await locatePage(select, ever, filter, { offset, limit: perPage, total, now });
    return { rows: await listRange(select, filter, range, now), counts, total };
  });
}

/** Rows of the filter within some days, from whichever end is nearer. */
async function listRange(
  select: Select,
  filter: PenaltyFilter,
  range: DayRange,
  now: Date,
): Promise<Penalty[]> {
  const { from, before, rowsInRange } = range;
  const fromTheEnd = Math.max(rowsInRange - range.offset - range.limit, 0);
  const isBackwards = fromTheEnd < range.offset;
  const offset = isBackwards ? fromTheEnd : range.offset;
  const limit = isBackwards ? Math.min(range.limit, rowsInRange - range.offset) : range.limit;
  const found = await select(
    `penalties ${shapeOf(filter)} ${from ? 'in' : 'all'} ${isBackwards ? 'asc' : 'desc'} ${offset > 0 ? 'on' : ''}`,
    () => {
      const within = [
        conditions(filter),
        from && sql`${penalties.createdAt} >= ${unseen('from', 'timestamptz')}`,
        before && sql`${penalties.createdAt} < ${unseen('before', 'timestamptz')}`,
      ].filter((condition) => condition !== undefined);
      const order = isBackwards ? OLDEST_FIRST : NEWEST_FIRST;
      const walk = sql`from ${penalties} where ${sql.join(within, sql` and `)}`;
      // What an offset passes is walked in the index alone, up to the row that the page begins with.
      const key = sql`${penalties.createdAt}, ${penalties.id}`;
      const first = sql`select ${key} ${walk} order by ${order} limit 1 offset ${unseen('offset', 'bigint')}`;
      const onwards = sql`and (${key}) ${isBackwards ? sql`>=` : sql`<=`} (${first})`;
      return sql`select ${LISTED_COLUMNS} ${walk} ${offset > 0 ? onwards : sql``}
        order by ${order} limit ${unseen('limit', 'bigint')}`;
    },
    {
      ...values(filter, now),
      from,
      before,
      limit,
      offset,
    },
  );
  const rows = found.map((row) => readPenalty(row, now));
  return isBackwards ? rows.reverse() : rows;
}

const NEWEST_FIRST = sql`${penalties.createdAt} desc, ${penalties.id} desc`;
const OLDEST_FIRST = sql`${penalties.createdAt}, ${penalties.id}`;
const LISTED_COLUMNS = sql.join(Object.values(LISTED), sql`, `);

/** Reads the columns of {@link LISTED}, with the status of `now`. */
function readPenalty(row: Values, now: Date): Penalty {
  const endsAt = readDate(row[11]);
  return {
    id: Number(row[0]),
    type: row[1] as PenaltyType,
    status: statusAt(row[2] as PenaltyStatus, endsAt, now),
    playerName: String(row[3]),
    playerSteamId: String(row[4]) as SteamId64,
    adminName: String(row[5]),
    adminSteamId: String(row[6]) as SteamId64,
    reason: String(row[7]),
    durationMinutes: Number(row[8]),
    serverId: Number(row[9]),
    createdAt: new Date(String(row[10])),
    endsAt,
    liftedAt: readDate(row[12]),
    liftedByName: row[13] as string | null,
    liftReason: row[14] as string | null,
  };
}

function readDate(value: unknown): Date | null {
  return value === null ? null : new Date(String(value));
}

function totalOf(counts: PenaltyCounts, { types = PENALTY_TYPES }: PenaltyFilter): number {
  return types.reduce((sum, type) => sum + counts[type], 0);
}
