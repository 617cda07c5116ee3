import { boolean, pgTable, text } from 'drizzle-orm/pg-core';
import { instant } from './columns.ts';

/** Who was erased; only a keyed hash of a SteamID64. */
export const erasedPeople = pgTable('erased_people', {
  /** HMAC-SHA256 of the SteamID64, hexadecimal, by the secret `erasure_secret` of the settings. */
  idHash: text('id_hash').primaryKey(),
  /** Which secret that was: a hash of it. */
  secretId: text('secret_id').notNull(),
  /** Their penalties are anonymous, for good; else the row is there for what was under way, and goes within a day. */
  staysAnonymous: boolean('stays_anonymous').notNull().default(true),
  /** The last time. */
  erasedAt: instant('erased_at').notNull().defaultNow(),
});
