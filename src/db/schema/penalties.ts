import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  date,
  index,
  integer,
  jsonb,
  pgEnum,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import { STORED_EVENT_TYPES } from '../../domain/event.ts';
import { PENALTY_STATUSES, PENALTY_TYPES, PENALTY_YEARS } from '../../domain/penalty.ts';
import type { PenaltySystem } from '../../domain/systems.ts';
import { instant, steamId64 } from './columns.ts';
import { servers } from './servers.ts';

export const penaltyType = pgEnum('penalty_type', PENALTY_TYPES);
export const penaltyStatus = pgEnum('penalty_status', PENALTY_STATUSES);

/** The range of {@link isPenaltyTime} in SQL; it excludes both infinities. */
const FIRST_TIME = `${PENALTY_YEARS.first}-01-01 00:00:00+00`;
const AFTER_LAST_TIME = `${PENALTY_YEARS.last + 1}-01-01 00:00:00+00`;

/** What a penalty and its events have in common; {@link penalties} says what is required. */
const penaltyColumns = () => ({
  status: penaltyStatus('status'),
  playerName: text('player_name'),
  /** `'0'`: unknown (IP ban). */
  playerSteamId: steamId64('player_steamid'),
  adminName: text('admin_name'),
  /** `'0'`: the console. */
  adminSteamId: steamId64('admin_steamid'),
  reason: text('reason'),
  /** 0: permanent, then `endsAt` is null. */
  durationMinutes: integer('duration_minutes'),
  /** 0: none. Not a foreign key: sources name servers that no longer exist. */
  serverId: integer('server_id'),
  createdAt: instant('created_at'),
  endsAt: instant('ends_at'),
  /** Who lifted it, when and why, if the source has it. */
  liftedAt: instant('lifted_at'),
  liftedByName: text('lifted_by_name'),
  liftedBySteamId: steamId64('lifted_by_steamid'),
  liftReason: text('lift_reason'),
});
const columns = penaltyColumns();

/**
 * Bans, mutes, gags, silences, warnings. `status` may lag behind the clock: an ACTIVE row whose `endsAt` has passed
 * is EXPIRED. Triggers update `penaltyTallies` and truncate times to whole seconds.
 */
export const penalties = pgTable(
  'penalties',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    type: penaltyType('type').notNull(),
    ...columns,
    status: columns.status.notNull(),
    playerName: columns.playerName.notNull().default(''),
    playerSteamId: columns.playerSteamId.notNull(),
    adminName: columns.adminName.notNull().default(''),
    adminSteamId: columns.adminSteamId.notNull(),
    reason: columns.reason.notNull().default(''),
    durationMinutes: columns.durationMinutes.notNull(),
    serverId: columns.serverId.notNull().default(0),
    createdAt: columns.createdAt.notNull(),
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

/**
 * The scope of a tally, written by triggers and the recount (`0006_penalties.sql`), read by `queries/penalties/tallies.ts`.
 */
export const TALLY_SCOPES = { all: 0, server: 1, admin: 2, serverAndAdmin: 3 } as const;
export const TALLY_PERIODS = { ever: 0, month: 1, day: 2 } as const;

/**
 * The number of penalties by type and stored status, updated by triggers in the transaction that changes the rows:
 * of all penalties, per server, per admin, and per server and admin (not by day);
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
    /**
     * One count of each type and status: types in the order of PENALTY_TYPES, within each the statuses in the order of
     * PENALTY_STATUSES.
     */
    counts: integer('counts').array().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.scope, table.serverId, table.adminSteamId, table.period, table.bucket] }),
  ],
);

/** The data of an event about another subject than penalties, as JSON. */
export type EventData = Readonly<Record<string, unknown>>;

export const penaltyEventType = pgEnum('penalty_event_type', STORED_EVENT_TYPES);

/**
 * The outbox, kept for 30 days: one row per change of a penalty, written by triggers in the same transaction, and events
 * of other subjects. The columns below `data` are the penalty as it was after the change; of other subjects they are null.
 */
export const penaltyEvents = pgTable(
  'penalty_events',
  {
    /** Ascending in commit order: once an id was read, no lower one appears. */
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    type: penaltyEventType('type').notNull(),
    /** When it was recorded. */
    occurredAt: instant('occurred_at').notNull(),
    /** Listed among the changes, but not notified: from a source's first import, or long past. */
    isSilent: boolean('is_silent').notNull(),
    /** The row is gone from `penalties`, not only from its source. */
    isDeleted: boolean('is_deleted').notNull().default(false),
    /**
     * The data of an event about another subject. It names people only by their SteamID, as a text, so that an erasure
     * finds them.
     */
    data: jsonb('data').$type<EventData>(),
    penaltyId: bigint('penalty_id', { mode: 'number' }),
    penaltyType: penaltyType('penalty_type'),
    /** The status is as of `expiredUpTo` in {@link penaltyEventState}, not by the reader's clock. */
    ...penaltyColumns(),
  },
  (table) => [
    // For erasure and data export, which look for a person in each role.
    index('penalty_events_player').on(table.playerSteamId),
    index('penalty_events_admin').on(table.adminSteamId),
    index('penalty_events_lifter').on(table.liftedBySteamId).where(sql`lifted_by_steamid is not null`),
    index('penalty_events_data').on(table.id).where(sql`data is not null`),
    // For streams, which send no silent events: a first import records a million of them.
    index('penalty_events_notified').on(table.id).where(sql`not is_silent`),
  ],
);

/** One row. */
export const penaltyEventState = pgTable(
  'penalty_event_state',
  {
    isOnly: boolean('is_only').primaryKey().default(true),
    /** Part of every cursor, so that a cursor of another database is recognised. */
    epoch: text('epoch').notNull(),
    /** Penalties that ended by this time have been recorded as expired. */
    expiredUpTo: instant('expired_up_to').notNull(),
    /** The newest event that was pruned; 0: none. */
    prunedUpTo: bigint('pruned_up_to', { mode: 'number' }).notNull().default(0),
  },
  (table) => [check('penalty_event_state_only', sql`${table.isOnly}`)],
);

/** The origin of each `penalties.source`, so that another database does not overwrite its rows; no credentials. */
export const penaltySources = pgTable('penalty_sources', {
  name: text('name').primaryKey(),
  kind: text('kind').$type<PenaltySystem | 'ndjson'>().notNull(),
  /** `host:port/database`, or the path of a file; `''` for lines of JSON. */
  address: text('address').notNull(),
  /** The prefix of its table names, for sources that have one. */
  prefix: text('prefix').notNull().default(''),
  /** The zone of its times in the last full read; null for sources whose times have one, and before the first. */
  timezone: text('timezone'),
  /** When its first import was completed; until then its events are silent. */
  completedAt: instant('completed_at'),
});

/** The ids that a penalty source uses for one of our servers. */
export const serverAliases = pgTable(
  'server_aliases',
  {
    source: text('source').notNull(),
    sourceServerId: text('source_server_id').notNull(),
    serverId: integer('server_id')
      .notNull()
      .references(() => servers.id, { onDelete: 'cascade' }),
    /** The address that the source had for it; null until a round has stored it. */
    address: text('address'),
  },
  (table) => [primaryKey({ columns: [table.source, table.sourceServerId] })],
);

/**
 * The searchable names of players: names in their penalties and nicknames of users, maintained by triggers.
 */
export const playerNames = pgTable(
  'player_names',
  {
    steamId64: steamId64('steamid64').notNull(),
    /** True: the nickname of a user. False: a name in a penalty. */
    isNickname: boolean('is_nickname').notNull(),
    /** The first 256 characters of the name. */
    name: text('name').notNull(),
    /** The name after `foldText`. */
    folded: text('folded').notNull(),
    /** Hashes of each three consecutive characters of `folded`, and of the whole. */
    grams: integer('grams').array().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.steamId64, table.isNickname, table.name] }),
    // Every search reads the whole pending list: a short one.
    index('player_names_grams').using('gin', table.grams).with({ gin_pending_list_limit: 512 }),
  ],
);
