import { and, asc, desc, eq, gte, inArray, lt, type SQL, sql } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { penalties } from '../db/schema.ts';
import { type Select, selectFrom, selectFromSnapshot, type Values } from '../db/select.ts';
import { PENALTY_TYPES, type PenaltyStatus, type PenaltyType, statusAt } from '../penalty.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../steam-id.ts';
import {
  conditions,
  isDue,
  literal,
  type PenaltyCounts,
  type PenaltyFilter,
  placeholders,
  shapeOf,
  statusCondition,
  values,
} from './penalty-filter.ts';
import { type DayRange, locatePage, readTallies, sumCounts } from './penalty-tallies.ts';

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
    (builder) =>
      builder
        .select({ id: penalties.id })
        .from(penalties)
        .where(
          and(
            eq(penalties.playerSteamId, sql.placeholder('player')),
            // Written out, so that a plan made for all players knows the index of active bans to hold the answer.
            sql`${penalties.type} = 'ban'`,
            statusCondition('ACTIVE', sql.placeholder('now')),
          ),
        )
        .limit(literal(1)),
    { player: playerSteamId, now: now.toISOString() },
  );
  return found.length > 0;
}

/**
 * Marks ACTIVE rows whose end has passed as EXPIRED, so that few are left to be corrected for at each answer.
 * @param limit rows at most, in one statement.
 * @returns how many were marked.
 */
export async function markExpiredPenalties(db: Db, now: Date, limit = 5000): Promise<number> {
  const due = () =>
    db
      .select({ id: penalties.id })
      .from(penalties)
      .where(isDue(now.toISOString()))
      .orderBy(asc(penalties.endsAt));
  // Any update waits for other writers, an import perhaps: none is begun without need.
  if ((await due().limit(1)).length === 0) return 0;
  const marked = await db
    .update(penalties)
    .set({ status: 'EXPIRED' })
    .where(and(inArray(penalties.id, due().limit(limit)), eq(penalties.status, 'ACTIVE')))
    .returning({ id: penalties.id });
  return marked.length;
}

/** Unknown players share one SteamID and may be many: alone they have tallies. Every other player's rows are few. */
function isCountedByTallies({ playerSteamId, serverId, adminSteamId }: PenaltyFilter): boolean {
  if (playerSteamId === undefined) return true;
  return playerSteamId === UNKNOWN_STEAM_ID && serverId === undefined && adminSteamId === undefined;
}

/** Counts and rows in one statement over the player's part of the index. */
async function listByPlayer(db: Db, filter: PenaltyFilter, { page, perPage, now }: PageOptions) {
  const found = await selectFrom(db)(
    `penalties of player ${shapeOf(filter)}`,
    (builder) => {
      const counted = builder
        // One text, as it comes with every row.
        .select({
          counts: sql`concat_ws(' ', ${sql.join(PENALTY_TYPES.map(countOf), sql`, `)})`.as('counts'),
        })
        .from(penalties)
        .where(conditions({ ...placeholders(filter), types: undefined }))
        .as('counted');
      const listed = builder
        .select(LISTED)
        .from(penalties)
        .where(conditions(placeholders(filter)))
        .orderBy(desc(penalties.createdAt), desc(penalties.id))
        .limit(sql.placeholder('limit'))
        .offset(sql.placeholder('offset'))
        .as('listed');
      return builder
        .select({ ...listed._.selectedFields, ...counted._.selectedFields })
        .from(counted)
        .leftJoin(listed, sql`true`)
        .orderBy(desc(listed.createdAt), desc(listed.id));
    },
    { ...values(filter, now), limit: perPage, offset: (page - 1) * perPage },
  );
  const counted = String(found[0]?.[LISTED_COLUMNS] ?? '').split(' ');
  const counts = Object.fromEntries(
    PENALTY_TYPES.map((type, index) => [type, Number(counted[index] ?? 0)]),
  ) as PenaltyCounts;
  // A player without records on this page has one row: of counts alone.
  const rows = found.filter(([id]) => id !== null).map((row) => readPenalty(row, now));
  return { rows, counts, total: totalOf(counts, filter) };
}

function countOf(type: PenaltyType): SQL {
  return sql`count(*) filter (where ${penalties.type} = ${sql.raw(`'${type}'`)})`;
}

/** Counts from tallies, rows from the days that hold them; all of one snapshot. */
function listByTallies(db: Db, filter: PenaltyFilter, { page, perPage, now }: PageOptions) {
  return selectFromSnapshot(db, async (select) => {
    const tallies = await readTallies(select, filter, now);
    const counts = sumCounts(tallies.ever, filter.status);
    const total = totalOf(counts, filter);
    const offset = (page - 1) * perPage;
    if (offset >= total) return { rows: [], counts, total };
    const range = await locatePage(select, tallies, filter, { offset, limit: perPage, total });
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
  const fromTheEnd =
    rowsInRange === undefined ? undefined : Math.max(rowsInRange - range.offset - range.limit, 0);
  const isBackwards = fromTheEnd !== undefined && fromTheEnd < range.offset;
  const offset = isBackwards ? fromTheEnd : range.offset;
  const limit = isBackwards ? Math.min(range.limit, (rowsInRange ?? 0) - range.offset) : range.limit;
  const order = isBackwards ? asc : desc;
  // A plan made once for all knows no placeholder's value and would take a limit for a tenth of the table: it is told
  // the order of magnitude, and walks an index instead of sorting everything.
  const walk = 10 ** Math.ceil(Math.log10(Math.max(offset + limit, 100)));
  const found = await select(
    `penalties ${shapeOf(filter)} ${from ? 'in' : 'all'} ${isBackwards ? 'asc' : 'desc'} ${walk}`,
    (builder) => {
      const walked = builder
        .select({ id: penalties.id, createdAt: penalties.createdAt })
        .from(penalties)
        .where(
          and(
            conditions(placeholders(filter)),
            from ? gte(penalties.createdAt, sql.placeholder('from')) : undefined,
            before ? lt(penalties.createdAt, sql.placeholder('before')) : undefined,
          ),
        )
        .orderBy(order(penalties.createdAt), order(penalties.id))
        .limit(literal(walk))
        .as('walked');
      const ids = builder
        .select({ id: walked.id })
        .from(walked)
        .orderBy(order(walked.createdAt), order(walked.id))
        .limit(sql.placeholder('limit'))
        .offset(sql.placeholder('offset'))
        .as('ids');
      // Names the table's columns anew, so that an offset walks the narrow index where that suffices.
      return builder
        .select(LISTED)
        .from(ids)
        .innerJoin(penalties, eq(penalties.id, ids.id))
        .orderBy(desc(penalties.createdAt), desc(penalties.id));
    },
    {
      ...values(filter, now),
      ...(from && { from: from.toISOString() }),
      ...(before && { before: before.toISOString() }),
      limit,
      offset,
    },
  );
  return found.map((row) => readPenalty(row, now));
}

const LISTED_COLUMNS = Object.keys(LISTED).length;

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
