import { sql } from 'drizzle-orm';
import { bigint, boolean, check, index, integer, pgEnum, pgTable, text } from 'drizzle-orm/pg-core';
import { STORED_EVENT_TYPES } from '../../domain/event.ts';
import { instant, steamId64 } from './columns.ts';
import { penaltyStatus, penaltyType } from './penalties.ts';

export const penaltyEventType = pgEnum('penalty_event_type', STORED_EVENT_TYPES);

/**
 * The outbox: one row per change of a penalty, written by triggers in the same transaction, kept for 30 days.
 * The columns after `isDeleted` are the penalty as it was after the change.
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
    penaltyId: bigint('penalty_id', { mode: 'number' }).notNull(),
    penaltyType: penaltyType('penalty_type').notNull(),
    /** As of `expiredUpTo` in {@link penaltyEventState}, not by the reader's clock. */
    status: penaltyStatus('status').notNull(),
    playerName: text('player_name').notNull(),
    playerSteamId: steamId64('player_steamid').notNull(),
    adminName: text('admin_name').notNull(),
    adminSteamId: steamId64('admin_steamid').notNull(),
    reason: text('reason').notNull(),
    durationMinutes: integer('duration_minutes').notNull(),
    serverId: integer('server_id').notNull(),
    createdAt: instant('created_at').notNull(),
    endsAt: instant('ends_at'),
    liftedAt: instant('lifted_at'),
    liftedByName: text('lifted_by_name'),
    liftedBySteamId: steamId64('lifted_by_steamid'),
    liftReason: text('lift_reason'),
  },
  (table) => [
    // For erasure and data export, which look for a person in each role.
    index('penalty_events_player').on(table.playerSteamId),
    index('penalty_events_admin').on(table.adminSteamId),
    index('penalty_events_lifter').on(table.liftedBySteamId).where(sql`lifted_by_steamid is not null`),
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
