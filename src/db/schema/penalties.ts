import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  date,
  index,
  integer,
  pgEnum,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import { PENALTY_STATUSES, PENALTY_TYPES, PENALTY_YEARS } from '../../domain/penalty.ts';
import { instant, steamId64 } from './columns.ts';

export const penaltyType = pgEnum('penalty_type', PENALTY_TYPES);
export const penaltyStatus = pgEnum('penalty_status', PENALTY_STATUSES);

/** The range of {@link isPenaltyTime} in SQL; it excludes both infinities. */
const FIRST_TIME = `${PENALTY_YEARS.first}-01-01 00:00:00+00`;
const AFTER_LAST_TIME = `${PENALTY_YEARS.last + 1}-01-01 00:00:00+00`;

/**
 * Bans, mutes, gags, silences, warnings. `status` may lag behind the clock: an ACTIVE row whose `endsAt` has passed
 * is EXPIRED. Triggers update `penaltyTallies` and truncate times to whole seconds, whoever writes.
 */
export const penalties = pgTable(
  'penalties',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    type: penaltyType('type').notNull(),
    status: penaltyStatus('status').notNull(),
    playerName: text('player_name').notNull().default(''),
    /** `'0'`: unknown (IP ban). */
    playerSteamId: steamId64('player_steamid').notNull(),
    adminName: text('admin_name').notNull().default(''),
    /** `'0'`: the console. */
    adminSteamId: steamId64('admin_steamid').notNull(),
    reason: text('reason').notNull().default(''),
    /** 0: permanent, then `endsAt` is null. */
    durationMinutes: integer('duration_minutes').notNull(),
    /** 0: none. Not a foreign key: sources name servers that no longer exist. */
    serverId: integer('server_id').notNull().default(0),
    createdAt: instant('created_at').notNull(),
    endsAt: instant('ends_at'),
    /** Who lifted it, when and why, if the source has it. */
    liftedAt: instant('lifted_at'),
    liftedByName: text('lifted_by_name'),
    liftedBySteamId: steamId64('lifted_by_steamid'),
    liftReason: text('lift_reason'),
    /** Key of an imported row; null for none. */
    source: text('source'),
    sourceTable: text('source_table'),
    sourceId: text('source_id'),
    /** When an import first found it missing at its source. The row stays listed. */
    goneAt: instant('gone_at'),
  },
  (table) => [
    uniqueIndex('penalties_source').on(table.source, table.sourceTable, table.sourceId),
    // The columns after the id let an index-only scan filter the rows that it skips on the way to a deep page.
    index('penalties_created').on(table.createdAt, table.id, table.type, table.status, table.endsAt),
    index('penalties_type_status').on(table.type, table.status, table.createdAt, table.id),
    // For sorting by `ends`; the columns after the id let an index-only scan filter and count rows.
    index('penalties_ends').on(table.endsAt, table.id, table.type, table.status, table.createdAt),
    // The type lets an index-only scan count a player's rows.
    index('penalties_player').on(table.playerSteamId, table.createdAt, table.id, table.type),
    index('penalties_admin').on(
      table.adminSteamId,
      table.createdAt,
      table.id,
      table.type,
      table.status,
      table.endsAt,
    ),
    index('penalties_server').on(
      table.serverId,
      table.createdAt,
      table.id,
      table.type,
      table.status,
      table.endsAt,
    ),
    index('penalties_server_admin').on(table.serverId, table.adminSteamId, table.createdAt, table.id),
    index('penalties_lifter').on(table.liftedBySteamId).where(sql`lifted_by_steamid is not null`),
    // The columns after the player let an index-only scan tell whether a player is banned.
    index('penalties_active_player')
      .on(table.playerSteamId, table.type, table.endsAt)
      .where(sql`status = 'ACTIVE'`),
    check(
      'penalties_times',
      sql.raw(
        ['created_at', 'ends_at', 'lifted_at']
          .map((column) => `(${column} >= '${FIRST_TIME}' and ${column} < '${AFTER_LAST_TIME}')`)
          .join(' and '),
      ),
    ),
    // Covers all columns that the correction of counts reads.
    index('penalties_due')
      .on(table.endsAt, table.type, table.createdAt, table.serverId, table.adminSteamId, table.playerSteamId)
      .where(sql`status = 'ACTIVE' and ends_at is not null`),
  ],
);

/** The scope of a tally; `queries/penalties/tallies.ts` reads it, triggers and the recount (`0001_tallies.sql`) write it. */
export const TALLY_SCOPES = { all: 0, server: 1, admin: 2, serverAndAdmin: 3, unknownPlayer: 4 } as const;
export const TALLY_PERIODS = { ever: 0, month: 1, day: 2 } as const;

/**
 * The number of penalties by type and stored status, updated by triggers in the transaction that changes the rows:
 * of all penalties, per server, per admin, per server and admin (not by day), and of unknown players;
 * in total, by month and by day of `created_at` in UTC.
 */
export const penaltyTallies = pgTable(
  'penalty_tallies',
  {
    scope: smallint('scope').notNull(),
    serverId: integer('server_id').notNull(),
    adminSteamId: steamId64('admin_steamid').notNull(),
    period: smallint('period').notNull(),
    /** First day of the period; 1970-01-01 for ever. */
    bucket: date('bucket', { mode: 'string' }).notNull(),
    /** One count of each type and status: types in the order of PENALTY_TYPES, within each the statuses in the order of PENALTY_STATUSES. */
    counts: integer('counts').array().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.scope, table.serverId, table.adminSteamId, table.period, table.bucket] }),
  ],
);
