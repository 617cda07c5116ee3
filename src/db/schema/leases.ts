import { bigint, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/** Which process leads each part that runs in one process at a time. */
export const leases = pgTable('leases', {
  name: text('name').primaryKey(),
  /** The suffix of the names of the holder's sessions; empty when nobody holds it. */
  holder: text('holder').notNull(),
  /** Greater with each holder: writes under an older token are refused. */
  token: bigint('token', { mode: 'number' }).notNull(),
  /** By the database's clock. */
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  /** When another process last tried to take over. */
  standbySeenAt: timestamp('standby_seen_at', { withTimezone: true }),
});
