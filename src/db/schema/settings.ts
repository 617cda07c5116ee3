import { pgTable, text } from 'drizzle-orm/pg-core';

/** Values that the service stores for itself, such as the session secret and the hash of the registered commands. */
export const settings = pgTable('settings', {
  key: text('key').primaryKey(),
  value: text('value').notNull(),
});
