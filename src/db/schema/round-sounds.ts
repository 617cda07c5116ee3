import { sql } from 'drizzle-orm';
import { index, integer, pgEnum, pgTable, real, smallint, text, uniqueIndex } from 'drizzle-orm/pg-core';
import { ROUND_SOUND_STATUSES, type RoundSoundFailure, START_ORIGINS } from '../../domain/round-sound.ts';
import { instant, steamId64 } from './columns.ts';

export const roundSoundStatus = pgEnum('round_sound_status', ROUND_SOUND_STATUSES);

/** Uploaded round-end sounds: at most one `ready` row a player, and one more for an upload under way or failed. */
export const roundSounds = pgTable(
  'round_sounds',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    steamId64: steamId64('steamid64').notNull(),
    status: roundSoundStatus('status').notNull().default('queued'),
    /** The original file name, cleaned. */
    title: text('title').notNull(),
    /** Name of the folder in the inbox that holds the upload until it is ready or failed. */
    uploadKey: text('upload_key').notNull().unique(),
    failure: text('failure').$type<RoundSoundFailure>(),
    /** Where the excerpt begins, and what that is counted from. */
    startMs: integer('start_ms').notNull().default(0),
    startFrom: text('start_from', { enum: START_ORIGINS }).notNull().default('first_sound'),
    /** How often a worker claimed it; a worker also checks by this number that the claim is still its own. */
    attempts: smallint('attempts').notNull().default(0),
    /** How many of these ended in a failure of the service, such as a full disk; a killed worker counts none. */
    failures: smallint('failures').notNull().default(0),
    /** No worker claims it before: one is working on it, or the next attempt is delayed. */
    claimedUntil: instant('claimed_until'),
    /** SHA-256 of the rendered file, hexadecimal, and its size; set before the file is moved into place. */
    sha256: text('sha256'),
    sizeBytes: integer('size_bytes'),
    /** The same of the voice rendition. */
    voiceSha256: text('voice_sha256'),
    voiceSizeBytes: integer('voice_size_bytes'),
    /** Unused since 1.0.0; dropped a version later. */
    voiceAttempts: smallint('voice_attempts').notNull().default(0),
    loudnessBeforeLufs: real('loudness_before_lufs'),
    loudnessAfterLufs: real('loudness_after_lufs'),
    durationMs: integer('duration_ms'),
    /** Peaks of the published file, 0 to 100. */
    waveform: smallint('waveform').array(),
    createdAt: instant('created_at').notNull().defaultNow(),
    readyAt: instant('ready_at'),
  },
  (table) => [
    uniqueIndex('round_sounds_ready').on(table.steamId64).where(sql`status = 'ready'`),
    index('round_sounds_player').on(table.steamId64, table.id),
    index('round_sounds_queue').on(table.id).where(sql`status in ('queued', 'measuring', 'rendering')`),
  ],
);
