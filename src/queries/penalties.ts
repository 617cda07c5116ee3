import { and, asc, desc, eq, getTableColumns, gte, inArray, lt, type SQL, sql } from 'drizzle-orm';
import { type Db, prepared } from '../db/client.ts';
import { penalties } from '../db/schema.ts';
import { PENALTY_TYPES, type PenaltyType, statusAt } from '../penalty.ts';
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

export type Penalty = typeof penalties.$inferSelect;
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
  const page = isCountedByTallies(filter)
    ? await listByTallies(db, filter, options)
    : await listByPlayer(db, filter, options);
  return {
    ...page,
    rows: page.rows.map((row) => ({ ...row, status: statusAt(row.status, row.endsAt, options.now) })),
  };
}

/** Whether a player has an active ban at `now`. */
export async function isBanned(db: Db, playerSteamId: SteamId64, now: Date): Promise<boolean> {
  const statement = prepared(db, 'is_banned', (handle) =>
    handle
      .select({ id: penalties.id })
      .from(penalties)
      .where(
        and(
          eq(penalties.playerSteamId, sql.placeholder('player')),
          eq(penalties.type, 'ban'),
          statusCondition('ACTIVE', sql.placeholder('now')),
        ),
      )
      .limit(1)
      .prepare('is_banned'),
  );
  return (await statement.execute({ player: playerSteamId, now: now.toISOString() })).length > 0;
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
  const statement = prepared(db, `penalties_of_player:${shapeOf(filter)}`, (handle) => {
    const counted = handle
      .select(Object.fromEntries(PENALTY_TYPES.map((type) => [type, countOf(type).as(type)])) as CountColumns)
      .from(penalties)
      .where(conditions({ ...placeholders(filter), types: undefined }))
      .as('counted');
    const listed = handle
      .select()
      .from(penalties)
      .where(conditions(placeholders(filter)))
      .orderBy(desc(penalties.createdAt), desc(penalties.id))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
      .as('listed');
    return handle
      .select({ counts: counted._.selectedFields, row: listed._.selectedFields })
      .from(counted)
      .leftJoin(listed, sql`true`)
      .orderBy(desc(listed.createdAt), desc(listed.id))
      .prepare('penalties_of_player');
  });
  const found = await statement.execute({
    ...values(filter, now),
    limit: perPage,
    offset: (page - 1) * perPage,
  });
  const counts: PenaltyCounts = found[0]?.counts ?? { ban: 0, mute: 0, gag: 0, silence: 0, warn: 0 };
  const rows = found.flatMap(({ row }) => (row === null ? [] : [row as Penalty]));
  return { rows, counts, total: totalOf(counts, filter) };
}

type CountColumns = Record<PenaltyType, SQL.Aliased<number>>;

function countOf(type: PenaltyType): SQL<number> {
  return sql<number>`count(*) filter (where ${penalties.type} = ${sql.raw(`'${type}'`)})`.mapWith(Number);
}

/** Counts from tallies, rows from the days that hold them; one read-only snapshot over the statements. */
function listByTallies(db: Db, filter: PenaltyFilter, { page, perPage, now }: PageOptions) {
  return db.transaction(
    async (snapshot) => {
      const tallies = await readTallies(snapshot, filter, now);
      const counts = sumCounts(tallies.ever, filter.status);
      const total = totalOf(counts, filter);
      const offset = (page - 1) * perPage;
      if (offset >= total) return { rows: [], counts, total };
      const range = await locatePage(snapshot, tallies, filter, { offset, limit: perPage, total });
      return { rows: await listRange(snapshot, filter, range, now), counts, total };
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  );
}

/** Rows of the filter within some days, from whichever end is nearer. */
async function listRange(db: Db, filter: PenaltyFilter, range: DayRange, now: Date): Promise<Penalty[]> {
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
  const shape = `penalties:${shapeOf(filter)}:${from ? 'in' : 'all'}:${isBackwards ? 'asc' : 'desc'}:${walk}`;
  // Names the table's columns anew, so that an offset walks the narrow index where that suffices.
  const statement = prepared(db, shape, (handle) => {
    const walked = handle
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
    const ids = handle
      .select({ id: walked.id })
      .from(walked)
      .orderBy(order(walked.createdAt), order(walked.id))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
      .as('ids');
    return handle
      .select(getTableColumns(penalties))
      .from(ids)
      .innerJoin(penalties, eq(penalties.id, ids.id))
      .orderBy(desc(penalties.createdAt), desc(penalties.id))
      .prepare('penalties');
  });
  return statement.execute({
    ...values(filter, now),
    ...(from && { from: from.toISOString() }),
    ...(before && { before: before.toISOString() }),
    limit,
    offset,
  });
}

function totalOf(counts: PenaltyCounts, { types = PENALTY_TYPES }: PenaltyFilter): number {
  return types.reduce((sum, type) => sum + counts[type], 0);
}
