import { sql } from 'drizzle-orm';
import { bigint, boolean, check, index, integer, pgEnum, pgTable, text } from 'drizzle-orm/pg-core';
import { PENALTY_EVENT_TYPES } from '../../domain/penalty-event.ts';
import { instant, steamId64 } from './columns.ts';
import { penaltyStatus, penaltyType } from './penalties.ts';

export const penaltyEventType = pgEnum('penalty_event_type', PENALTY_EVENT_TYPES);

/**
 * The outbox: one row a change of a penalty, written by triggers in the transaction that makes it, kept for 30 days.
 * The columns after `isDeleted` are the penalty as it was after the change.
 */
export const penaltyEvents = pgTable(
  'penalty_events',
  {
    /** Ascends in the order of commits: none ever appears below one that was read. */
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    type: penaltyEventType('type').notNull(),
    /** When it was recorded. */
    occurredAt: instant('occurred_at').notNull(),
    /** Listed among the changes, but causes no notification: from a source's first import, or long past. */
    isSilent: boolean('is_silent').notNull(),
    /** The row is gone from `penalties`, not only from its source. */
    isDeleted: boolean('is_deleted').notNull().default(false),
    penaltyId: bigint('penalty_id', { mode: 'number' }).notNull(),
    penaltyType: penaltyType('penalty_type').notNull(),
    /** By the moments that {@link penaltyEventState} names, not by the clock of whoever reads it. */
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
    /** Nobody is told; by it the events of those who are erased are found. */
    liftedBySteamId: steamId64('lifted_by_steamid'),
    liftReason: text('lift_reason'),
  },
  (table) => [
    // Who is erased, or downloads their data, is looked for in each role.
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
    /** Told in every cursor, so that one of another database is recognised. */
    epoch: text('epoch').notNull(),
    /** Penalties that ended up to here were recorded as expired. */
    expiredUpTo: instant('expired_up_to').notNull(),
    /** The newest event that was pruned; 0: none. */
    prunedUpTo: bigint('pruned_up_to', { mode: 'number' }).notNull().default(0),
  },
  (table) => [check('penalty_event_state_only', sql`${table.isOnly}`)],
);
