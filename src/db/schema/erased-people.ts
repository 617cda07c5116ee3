import { boolean, pgTable, text } from 'drizzle-orm/pg-core';
import { instant } from './columns.ts';

/** The people who were erased, as a keyed hash of their SteamID64. */
export const erasedPeople = pgTable('erased_people', {
  /** HMAC-SHA256 of the SteamID64, hexadecimal, by the secret `erasure_secret` of the settings. */
  idHash: text('id_hash').primaryKey(),
  /** A hash of that secret, to tell which one it was. */
  secretId: text('secret_id').notNull(),
  /**
   * Whether their penalties stay anonymous. If not, the row only stops writes that were running, and is deleted after
   * an hour.
   */
  staysAnonymous: boolean('stays_anonymous').notNull().default(true),
  /** The last erasure. */
  erasedAt: instant('erased_at').notNull().defaultNow(),
});
