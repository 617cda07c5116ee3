import { and, isNotNull, lte, or, type SQL, sql } from 'drizzle-orm';
import { penalties } from '../db/schema.ts';
import type { PenaltyStatus, PenaltyType } from '../penalty.ts';
import type { SteamId64 } from '../steam-id.ts';

export type PenaltyCounts = Record<PenaltyType, number>;

export type PenaltyFilter = {
  /** Absent: all types. */
  types?: readonly PenaltyType[];
  /** As of `now`: an ACTIVE row whose end has passed is EXPIRED. */
  status?: PenaltyStatus;
  serverId?: number;
  playerSteamId?: SteamId64;
  adminSteamId?: SteamId64;
};

type Conditions = {
  types?: readonly PenaltyType[] | undefined;
  status?: PenaltyStatus | undefined;
  serverId?: unknown;
  playerSteamId?: unknown;
  adminSteamId?: unknown;
};

/** Which filters are set, and the closed sets' values: what makes one statement differ from another. */
export function shapeOf({ types, status, serverId, playerSteamId, adminSteamId }: PenaltyFilter): string {
  const set = Object.entries({ serverId, playerSteamId, adminSteamId }).filter(
    ([, value]) => value !== undefined,
  );
  return [types?.join('+') ?? '', status ?? '', ...set.map(([name]) => name)].join(',');
}

/** The filter with placeholders in place of ids; types and status are few and stay literal, so that plans know them. */
export function placeholders(filter: PenaltyFilter): Conditions {
  return {
    types: filter.types,
    status: filter.status,
    serverId: filter.serverId === undefined ? undefined : sql.placeholder('serverId'),
    playerSteamId: filter.playerSteamId === undefined ? undefined : sql.placeholder('playerSteamId'),
    adminSteamId: filter.adminSteamId === undefined ? undefined : sql.placeholder('adminSteamId'),
  };
}

/** What the placeholders stand for. */
export function values(
  { serverId, playerSteamId, adminSteamId }: PenaltyFilter,
  now: Date,
): Record<string, unknown> {
  return { serverId, playerSteamId, adminSteamId, now: now.toISOString() };
}

/** The WHERE clause of a filter whose ids may be placeholders; `now` is always one. */
export function conditions(wanted: Conditions): SQL | undefined {
  return and(
    wanted.playerSteamId === undefined
      ? undefined
      : sql`${penalties.playerSteamId} = ${wanted.playerSteamId}`,
    wanted.serverId === undefined ? undefined : sql`${penalties.serverId} = ${wanted.serverId}`,
    wanted.adminSteamId === undefined ? undefined : sql`${penalties.adminSteamId} = ${wanted.adminSteamId}`,
    wanted.types === undefined ? undefined : typeCondition(wanted.types),
    wanted.status === undefined ? undefined : statusCondition(wanted.status, sql.placeholder('now')),
  );
}

function typeCondition(types: readonly PenaltyType[]): SQL {
  const literals = sql.raw(types.map((type) => `'${type}'`).join(', '));
  return types.length === 1 ? sql`${penalties.type} = ${literals}` : sql`${penalties.type} in (${literals})`;
}

/** Rows whose stored status is behind the clock. */
export function isDue(now: unknown): SQL | undefined {
  return and(
    sql`${penalties.status} = 'ACTIVE'`,
    isNotNull(penalties.endsAt),
    lte(penalties.endsAt, sql`${now}::timestamptz`),
  );
}

/** Rows that have a status at `now`. */
export function statusCondition(status: PenaltyStatus, now: unknown): SQL | undefined {
  if (status === 'UNBANNED') return sql`${penalties.status} = 'UNBANNED'`;
  if (status === 'EXPIRED') return or(sql`${penalties.status} = 'EXPIRED'`, isDue(now));
  return sql`(${penalties.status} = 'ACTIVE' and (${penalties.endsAt} is null or ${penalties.endsAt} > ${now}::timestamptz))`;
}

/** A number written into the statement, where Drizzle would make a parameter that a generic plan knows nothing of. */
export function literal(value: number): number {
  return sql.raw(String(value)) as unknown as number;
}
