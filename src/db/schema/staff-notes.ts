import { index, integer, pgTable, text } from 'drizzle-orm/pg-core';
import { users } from './accounts.ts';
import { instant, steamId64 } from './columns.ts';

/** What moderators and admins note about players, with or without an account. */
export const staffNotes = pgTable(
  'staff_notes',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    /** Whom it is about. */
    steamId64: steamId64('steamid64').notNull(),
    /** Null: an author whose account was deleted. */
    authorUserId: integer('author_user_id').references(() => users.id, { onDelete: 'set null' }),
    text: text('text').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    index('staff_notes_player').on(table.steamId64, table.createdAt),
    index('staff_notes_author').on(table.authorUserId),
  ],
);
