import { type SQL, type SQLWrapper, sql } from 'drizzle-orm';
import { penalties } from '../../db/schema/penalties.ts';
import { hiddenPlaceholder, type PlaceholderValues } from '../../db/select.ts';
import { PENALTY_TYPES, type PenaltyStatus, type PenaltyType } from '../../domain/penalty.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';

export type PenaltyCounts = Record<PenaltyType, number>;

/** One count of each type. */
export function countsBy(count: (type: PenaltyType) => number): PenaltyCounts {
  return {
    ban: count('ban'),
    mute: count('mute'),
    gag: count('gag'),
    silence: count('silence'),
    warn: count('warn'),
  };
}

/** The number of rows of each type, as one text for {@link readCounts}. */
export function countsByType(column: SQLWrapper = penalties.type): SQL {
  const counts = PENALTY_TYPES.map(
    (type) => sql`count(*) filter (where ${column} = ${sql.raw(`'${type}'`)})`,
  );
  return sql`concat_ws(' ', ${sql.join(counts, sql`, `)})`;
}

/** Reads {@link countsByType}. */
export function readCounts(value: unknown): PenaltyCounts {
  const counts = String(value).split(' ');
  return countsBy((type) => Number(counts[PENALTY_TYPES.indexOf(type)]));
}

export type PenaltyFilter = {
  /** Absent: all types. */
  types?: readonly PenaltyType[] | undefined;
  /** As of `now`: an ACTIVE row whose end has passed is EXPIRED. */
  status?: PenaltyStatus | undefined;
  serverId?: number | undefined;
  playerSteamId?: SteamId64 | undefined;
  adminSteamId?: SteamId64 | undefined;
};

/** Identifies the statement of a filter: which filters are set, and the values that it contains literally. */
export function shapeOf({ types, status, serverId, playerSteamId, adminSteamId }: PenaltyFilter): string {
  const named = (name: string, value: unknown) => (value === undefined ? '' : `,${name}`);
  return `${types?.join('+') ?? ''},${status ?? ''}${named('serverId', serverId)}${named('playerSteamId', playerSteamId)}${named('adminSteamId', adminSteamId)}`;
}

/**
 * The WHERE clause of a filter; ids and `now` are placeholders, types and status are few and literal, so that the
 * planner knows them.
 */
export function filterCondition({
  types,
  status,
  serverId,
  playerSteamId,
  adminSteamId,
}: PenaltyFilter): SQL {
  const all = [
    sql`true`,
    playerSteamId && sql`${penalties.playerSteamId} = ${hiddenPlaceholder('playerSteamId', 'bigint')}`,
    serverId === undefined
      ? undefined
      : sql`${penalties.serverId} = ${hiddenPlaceholder('serverId', 'integer')}`,
    adminSteamId && sql`${penalties.adminSteamId} = ${hiddenPlaceholder('adminSteamId', 'bigint')}`,
    types && typeCondition(types),
    status && statusCondition(status),
  ];
  return sql.join(
    all.filter((condition) => condition !== undefined),
    sql` and `,
  );
}

/** The values of the placeholders. */
export function filterValues(
  { serverId, playerSteamId, adminSteamId }: PenaltyFilter,
  now: Date,
): PlaceholderValues {
  return { serverId, playerSteamId, adminSteamId, now: now.toISOString() };
}

/** Rows of any of these types. */
export function typeCondition(types: readonly PenaltyType[], column: SQLWrapper = penalties.type): SQL {
  return sql`${column} in (${sql.raw(types.map((type) => `'${type}'`).join(', '))})`;
}

/** ACTIVE rows whose end has passed. */
export function dueCondition(now: SQL): SQL {
  return sql`(${penalties.status} = 'ACTIVE' and ${penalties.endsAt} is not null and ${penalties.endsAt} <= ${now})`;
}

/** The status at `now`: an ACTIVE row whose end has passed is EXPIRED. */
export function statusAt(now: SQL): SQL<PenaltyStatus> {
  return sql<PenaltyStatus>`case when ${dueCondition(now)} then 'EXPIRED'::penalty_status else ${penalties.status} end`;
}

/** Rows whose status at the placeholder `now` is this one. */
export function statusCondition(status: PenaltyStatus): SQL {
  if (status === 'UNBANNED') return sql`${penalties.status} = 'UNBANNED'`;
  const now = hiddenPlaceholder('now', 'timestamptz');
  if (status === 'EXPIRED') return sql`(${penalties.status} = 'EXPIRED' or ${dueCondition(now)})`;
  return sql`(${penalties.status} = 'ACTIVE' and (${penalties.endsAt} is null or ${penalties.endsAt} > ${now}))`;
}
