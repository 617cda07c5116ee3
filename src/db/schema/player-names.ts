import { boolean, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { steamId64 } from './columns.ts';

/**
 * The names by which known players are searched: those of their penalties and their nicknames, kept by triggers whoever
 * writes.
 */
export const playerNames = pgTable(
  'player_names',
  {
    steamId64: steamId64('steamid64').notNull(),
    /** Whether it is the nickname of a user; else it stands in a penalty. */
    isNickname: boolean('is_nickname').notNull(),
    /** Its first 256 characters. */
    name: text('name').notNull(),
    /** By the rule of `foldText`. */
    folded: text('folded').notNull(),
    /** Hashes of all that is searched for: each three characters of `folded` in a row, and the whole. */
    grams: integer('grams').array().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.steamId64, table.isNickname, table.name] }),
    index('player_names_grams').using('gin', table.grams).with({ gin_pending_list_limit: 512 }),
  ],
);
