import { pgTable, text } from 'drizzle-orm/pg-core';

/** Small values the service keeps for itself: session secret, hash of the registered commands. */
export const settings = pgTable('settings', {
  key: text('key').primaryKey(),
  value: text('value').notNull(),
});
