import { bigint, pgTable, text, timestamp } from 'drizzle-orm/pg-core';

/** Which process runs what one process at a time may run. */
export const leases = pgTable('leases', {
  name: text('name').primaryKey(),
  /** Ends the names of the holder's sessions; empty when nobody holds it. */
  holder: text('holder').notNull(),
  /** Goes up by one with each holder: what is written under an older one is refused. */
  token: bigint('token', { mode: 'number' }).notNull(),
  /** By the database's clock. */
  expiresAt: timestamp('expires_at', { withTimezone: true }).notNull(),
  /** When another process last looked whether it may take over. */
  standbySeenAt: timestamp('standby_seen_at', { withTimezone: true }),
});
