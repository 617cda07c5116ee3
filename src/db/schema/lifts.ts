import { bigint, integer, pgTable, text } from 'drizzle-orm/pg-core';
import type { WrittenLift } from '../../domain/lift.ts';
import { users } from './accounts.ts';
import { instant } from './columns.ts';

/** Lifts of penalties at their source, from their beginning until the mirror has read what became of them. */
export const pendingLifts = pgTable('pending_lifts', {
  /** Not a foreign key: a restored backup or another program may have removed it. */
  penaltyId: bigint('penalty_id', { mode: 'number' }).primaryKey(),
  /** Null if their account was deleted. */
  userId: integer('user_id').references(() => users.id, { onDelete: 'set null' }),
  reason: text('reason').notNull(),
  begunAt: instant('begun_at').notNull(),
  /** Null while it is being written, or after the process that wrote it has died. */
  outcome: text('outcome').$type<WrittenLift>(),
});
