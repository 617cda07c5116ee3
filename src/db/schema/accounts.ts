import { sql } from 'drizzle-orm';
import { bigint, boolean, date, index, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import type { Actor } from '../../domain/rights/actor.ts';
import { TOKEN_SCOPES, type TokenScope } from '../../domain/rights/token-scope.ts';
import type { FlagSource, UserFlag } from '../../domain/rights/user-flags.ts';
import { instant, snowflake, steamId64 } from './columns.ts';

/** Members of the community: each SteamID that ever signed in, or that an operator set. */
export const users = pgTable(
  'users',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    steamId64: steamId64('steamid64').notNull().unique(),
    nickname: text('nickname').notNull().default(''),
    avatarUrl: text('avatar_url').notNull().default(''),
    discordId: snowflake('discord_id').unique(),
    discordUsername: text('discord_username').notNull().default(''),
    discordAvatar: text('discord_avatar').notNull().default(''),
    /** Their Discord account is shown only to themselves, admins and moderators. */
    hidesDiscord: boolean('hides_discord').notNull().default(false),
    /** Triggers derive the flags from `user_flags`; those of an inserted user are stored there with the source `hand`. */
    isAdmin: boolean('is_admin').notNull().default(false),
    isOwner: boolean('is_owner').notNull().default(false),
    isModerator: boolean('is_moderator').notNull().default(false),
    hasSvip: boolean('has_svip').notNull().default(false),
    isServiceplus: boolean('is_serviceplus').notNull().default(false),
    createdAt: instant('created_at').notNull().defaultNow(),
    /** The last sign-in; null: none is known. */
    signedInAt: instant('signed_in_at'),
    /** Since when they are blocked (no sign-in, no uploads, no tokens); null: they are not. */
    blockedAt: instant('blocked_at'),
    blockReason: text('block_reason').notNull().default(''),
  },
  (table) => [
    index('users_created').on(table.createdAt, table.id),
    index('users_signed_in').on(table.signedInAt),
  ],
);

/** What gives which flag to whom, also to SteamIDs without an account. A user has a flag while a row gives it. */
export const userFlags = pgTable(
  'user_flags',
  {
    steamId64: steamId64('steamid64').notNull(),
    flag: text('flag').$type<UserFlag>().notNull(),
    source: text('source').$type<FlagSource>().notNull(),
    /** When the row is deleted; null: when the source no longer gives the flag. */
    endsAt: instant('ends_at'),
    /** When the source was last seen to give it, to the hour. */
    seenAt: instant('seen_at').notNull().defaultNow(),
  },
  (table) => [
    primaryKey({ columns: [table.steamId64, table.flag, table.source] }),
    index('user_flags_ends').on(table.endsAt).where(sql`ends_at is not null`),
  ],
);

/** API tokens; only the SHA-256 of a token is kept. */
export const apiTokens = pgTable(
  'api_tokens',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    userId: integer('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    /** SHA-256 of the whole token, hexadecimal. */
    tokenHash: text('token_hash').notNull().unique(),
    lastFour: text('last_four').notNull(),
    /** What it may read. */
    scopes: text('scopes')
      .array()
      .$type<TokenScope[]>()
      .notNull()
      .default([...TOKEN_SCOPES]),
    createdAt: instant('created_at').notNull().defaultNow(),
    expiresAt: instant('expires_at'),
    lastUsedAt: instant('last_used_at'),
    revokedAt: instant('revoked_at'),
  },
  (table) => [
    index('api_tokens_user').on(table.userId, table.id),
    index('api_tokens_unrevoked').on(table.userId).where(sql`revoked_at is null`),
    index('api_tokens_ended').on(sql`least(revoked_at, expires_at)`),
  ],
);

/** Sign-in sessions of the account page; only the SHA-256 of a session id is kept. */
export const sessions = pgTable(
  'sessions',
  {
    idHash: text('id_hash').primaryKey(),
    userId: integer('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    createdAt: instant('created_at').notNull().defaultNow(),
    seenAt: instant('seen_at').notNull().defaultNow(),
    expiresAt: instant('expires_at').notNull(),
    /** Of the sign-in, by its `User-Agent`: `Firefox`, `Windows`. */
    browser: text('browser'),
    system: text('system'),
  },
  (table) => [index('sessions_user').on(table.userId), index('sessions_expires').on(table.expiresAt)],
);

/** Values that may be used once: OpenID response nonces, states of sign-in and of the Discord link. */
export const usedNonces = pgTable(
  'used_nonces',
  {
    nonce: text('nonce').primaryKey(),
    expiresAt: instant('expires_at').notNull(),
  },
  (table) => [index('used_nonces_expires').on(table.expiresAt)],
);

/** What moderators and admins note about players, with or without an account, and about penalties. */
export const staffNotes = pgTable(
  'staff_notes',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    /** Whom it is about. */
    steamId64: steamId64('steamid64').notNull(),
    /** The player's penalty that it belongs to. */
    penaltyId: bigint('penalty_id', { mode: 'number' }),
    /** Null: an author whose account was deleted. */
    authorUserId: integer('author_user_id').references(() => users.id, { onDelete: 'set null' }),
    text: text('text').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    index('staff_notes_player').on(table.steamId64, table.createdAt),
    index('staff_notes_author').on(table.authorUserId),
    index('staff_notes_penalty').on(table.penaltyId).where(sql`penalty_id is not null`),
  ],
);

/** The people who were erased, as a keyed hash of their SteamID64. */
export const erasedPeople = pgTable('erased_people', {
  /** HMAC-SHA256 of the SteamID64, hexadecimal, by the secret `erasure_secret` of the settings. */
  idHash: text('id_hash').primaryKey(),
  /** A hash of that secret, to tell which one it was. */
  secretId: text('secret_id').notNull(),
  /**
   * Whether their penalties stay anonymous. If not, the row only makes writes fail that were running during the erasure, and
   * lets a restore erase these people again; it is deleted after `ERASED_KEPT_DAYS`.
   */
  staysAnonymous: boolean('stays_anonymous').notNull().default(true),
  /** The last erasure. */
  erasedAt: instant('erased_at').notNull().defaultNow(),
});

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

/** Actors other than users and the operator's tool; {@link Actor} lists them all. */
export type AuditActor = 'configuration' | 'service' | 'member' | 'discord-member';

/** Every change, and who made it. */
export const auditLog = pgTable(
  'audit_log',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    at: instant('at').notNull().defaultNow(),
    /** The acting user; null for the operator's tool, and where `actor` is set. */
    actorUserId: integer('actor_user_id').references(() => users.id, { onDelete: 'set null' }),
    /** Set when neither a user nor the operator's tool acted. The id of a `discord-member` is in `details`. */
    actor: text('actor').$type<AuditActor>(),
    action: text('action').notNull(),
    subject: text('subject').notNull().default(''),
    details: jsonb('details').$type<Record<string, unknown>>().notNull().default({}),
  },
  (table) => [
    index('audit_log_at').on(table.at),
    index('audit_log_subject').on(table.subject),
    index('audit_log_actor').on(table.actorUserId).where(sql`actor_user_id is not null`),
  ],
);
