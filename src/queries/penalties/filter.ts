import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { penalties } from '../../db/schema/penalties.ts';
import { hiddenPlaceholder, type PlaceholderValues } from '../../db/select.ts';
import { byPenaltyType, PENALTY_TYPES, type PenaltyStatus, type PenaltyType } from '../../domain/penalty.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';

export type PenaltyCounts = Record<PenaltyType, number>;

/**
 * The number of rows of each type, as one text for {@link readCounts}.
 * @param over the window of rows, as `over …`; by default those of the group.
 */
export function countsByType(column: SQLWrapper, over: SQL = sql``): SQL {
  const counts = PENALTY_TYPES.map(
    (type) => sql`count(*) filter (where ${column} = ${sql.raw(`'${type}'`)}) ${over}`,
  );
  return sql`concat_ws(' ', ${sql.join(counts, sql`, `)})`;
}

/** Reads {@link countsByType}. */
export function readCounts(value: unknown): PenaltyCounts {
  const counts = String(value).split(' ');
  return byPenaltyType((type) => Number(counts[PENALTY_TYPES.indexOf(type)]));
}

export type PenaltyFilter = {
  /** Absent: all types. */
  types?: readonly PenaltyType[] | undefined;
  /** As of `now`: an ACTIVE row whose end has passed is EXPIRED. */
  status?: PenaltyStatus | undefined;
  serverId?: number | undefined;
  playerSteamId?: SteamId64 | undefined;
  adminSteamId?: SteamId64 | undefined;
  /** The earliest `created`. */
  createdFrom?: Date | undefined;
  /** Later than every `created`. */
  createdTo?: Date | undefined;
  /** What the reason contains, in any letter case of ASCII letters. */
  reason?: string | undefined;
};

/** The length of a text to search for in reasons, in characters. */
export const REASON_LENGTH = { minimum: 3, maximum: 64 };

/** The filters whose values are placeholders of their names. */
const VALUE_CONDITIONS = {
  playerSteamId: sql`${penalties.playerSteamId} = ${hiddenPlaceholder('playerSteamId', 'bigint')}`,
  serverId: sql`${penalties.serverId} = ${hiddenPlaceholder('serverId', 'integer')}`,
  adminSteamId: sql`${penalties.adminSteamId} = ${hiddenPlaceholder('adminSteamId', 'bigint')}`,
  // Not hidden: how long the period is decides which index is best.
  createdFrom: sql`${penalties.createdAt} >= ${sql.placeholder('createdFrom')}::timestamptz`,
  createdTo: sql`${penalties.createdAt} < ${sql.placeholder('createdTo')}::timestamptz`,
  // Half the time of LIKE. The collation changes the case of ASCII letters only.
  reason: sql`strpos(lower(${penalties.reason} collate "C"), ${hiddenPlaceholder('reason', 'text')}) > 0`,
} satisfies Partial<Record<keyof PenaltyFilter, SQL>>;

const VALUE_FILTERS = Object.keys(VALUE_CONDITIONS) as (keyof typeof VALUE_CONDITIONS)[];

/** Identifies the statement of a filter: which filters are set, and the values that it contains literally. */
export function shapeOf({ types, status, ...values }: PenaltyFilter): string {
  return [types?.join('+'), status, ...namesOf(values)].join();
}

/**
 * The WHERE clause of a filter; ids and `now` are placeholders, types and status are few and literal, so that the
 * planner knows them.
 */
export function filterCondition({ types, status, ...values }: PenaltyFilter): SQL {
  const all = [
    sql`true`,
    ...namesOf(values).map((name) => VALUE_CONDITIONS[name]),
    types && typeCondition(types),
    status && statusCondition(status),
  ];
  return sql.join(
    all.filter((condition) => condition !== undefined),
    sql` and `,
  );
}

/** The values of the placeholders. */
export function filterValues(filter: PenaltyFilter, now: Date): PlaceholderValues {
  return {
    playerSteamId: filter.playerSteamId,
    serverId: filter.serverId,
    adminSteamId: filter.adminSteamId,
    createdFrom: filter.createdFrom?.toISOString(),
    createdTo: filter.createdTo?.toISOString(),
    reason: filter.reason?.replace(/[A-Z]+/g, (letters) => letters.toLowerCase()),
    now: now.toISOString(),
  };
}

function namesOf(filter: PenaltyFilter) {
  return VALUE_FILTERS.filter((name) => filter[name] !== undefined);
}

/** Rows of any of these types. */
export function typeCondition(types: readonly PenaltyType[], column: SQLWrapper = penalties.type): SQL {
  return sql`${column} in (${sql.raw(types.map((type) => `'${type}'`).join(', '))})`;
}

/** ACTIVE rows whose end has passed. */
export function dueCondition(now: SQL): SQL {
  return sql`(${penalties.status} = 'ACTIVE' and ${penalties.endsAt} is not null and ${penalties.endsAt} <= ${now})`;
}

/** `isLiftedByRemoval` in SQL. @param table the name or alias of the table. */
export const liftedByRemoval = (table: string): string =>
  `coalesce(${table}.lifted_at = date_trunc('second', ${table}.gone_at), false)`;

/** The status at `now`: an ACTIVE row whose end has passed is EXPIRED. */
export function statusSql(now: SQL): SQL<PenaltyStatus> {
  return sql<PenaltyStatus>`case when ${dueCondition(now)} then 'EXPIRED'::penalty_status else ${penalties.status} end`;
}

/** Rows whose status at the placeholder `now` is this one. */
export function statusCondition(status: PenaltyStatus): SQL {
  if (status === 'UNBANNED') return sql`${penalties.status} = 'UNBANNED'`;
  const now = hiddenPlaceholder('now', 'timestamptz');
  if (status === 'EXPIRED') return sql`(${penalties.status} = 'EXPIRED' or ${dueCondition(now)})`;
  return sql`(${penalties.status} = 'ACTIVE' and (${penalties.endsAt} is null or ${penalties.endsAt} > ${now}))`;
}

/** An active ban of a player at the placeholder `now`, in a form that can use the index of active penalties. */
export function activeBanOf(player: SQLWrapper): SQL {
  return sql`${penalties.playerSteamId} = ${player} and ${typeCondition(['ban'])} and ${statusCondition('ACTIVE')}`;
}
