import { boolean, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { steamId64 } from './columns.ts';

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
