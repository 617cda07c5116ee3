import { sql } from 'drizzle-orm';
import { boolean, date, index, integer, pgTable } from 'drizzle-orm/pg-core';
import { instant, steamId64 } from './columns.ts';

/** Steam's bans of players who were looked up, cached for a day. */
export const steamBans = pgTable(
  'steam_bans',
  {
    steamId64: steamId64('steamid64').primaryKey(),
    vacBans: integer('vac_bans').notNull(),
    gameBans: integer('game_bans').notNull(),
    daysSinceLastBan: integer('days_since_last_ban').notNull(),
    isCommunityBanned: boolean('is_community_banned').notNull(),
    checkedAt: instant('checked_at').notNull(),
  },
  (table) => [index('steam_bans_checked').on(table.checkedAt)],
);

/** The number of calls for Steam's bans by all processes together, by day in UTC. */
export const steamCalls = pgTable('steam_calls', {
  day: date('day', { mode: 'string' }).primaryKey().default(sql`(now() at time zone 'UTC')::date`),
  calls: integer('calls').notNull(),
});
