import { pgTable, text } from 'drizzle-orm/pg-core';
import { instant } from './columns.ts';

/** Whose penalties were made anonymous, so that imports do not bring them back; only a keyed hash of a SteamID64. */
export const erasedPeople = pgTable('erased_people', {
  /** HMAC-SHA256 of the SteamID64, hexadecimal, by the secret `erasure_secret` of the settings. */
  idHash: text('id_hash').primaryKey(),
  erasedAt: instant('erased_at').notNull().defaultNow(),
});
