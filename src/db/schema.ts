import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  customType,
  date,
  index,
  integer,
  jsonb,
  pgEnum,
  pgTable,
  primaryKey,
  real,
  smallint,
  text,
  timestamp,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import { PENALTY_STATUSES, PENALTY_TYPES, PENALTY_YEARS } from '../penalty.ts';
import { ROUND_SOUND_STATUSES, type RoundSoundFailure } from '../round-sound.ts';
import type { SteamId64 } from '../steam-id.ts';

/** Ids kept as bigint and read as strings: Steam's and Discord's exceed 2^53. */
const steamId64 = customType<{ data: SteamId64; driverData: string }>({
  dataType: () => 'bigint',
  fromDriver: (value) => String(value) as SteamId64,
});
const snowflake = customType<{ data: string; driverData: string }>({
  dataType: () => 'bigint',
  fromDriver: (value) => String(value),
});
/** An instant. Milliseconds are all JavaScript keeps, so no row claims more. */
const instant = (name: string) => timestamp(name, { withTimezone: true, mode: 'date', precision: 3 });

export const penaltyType = pgEnum('penalty_type', PENALTY_TYPES);
export const penaltyStatus = pgEnum('penalty_status', PENALTY_STATUSES);

/** A player on a server, as A2S_PLAYER tells it. */
export type ServerPlayer = { name: string; score: number };

/** The polled game servers; `address` is as configured, `host:port`. */
export const servers = pgTable('servers', {
  id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
  slug: text('slug').notNull().unique(),
  name: text('name').notNull(),
  address: text('address').notNull().unique(),
  mode: text('mode').notNull().default(''),
  region: text('region').notNull().default(''),
  /** On no public list and not polled: made by an import, until an operator shows it. */
  isHidden: boolean('is_hidden').notNull().default(false),
  createdAt: instant('created_at').notNull().defaultNow(),
});

/** The latest poll of each server. */
export const serverSnapshots = pgTable('server_snapshots', {
  serverId: integer('server_id')
    .primaryKey()
    .references(() => servers.id, { onDelete: 'cascade' }),
  isOnline: boolean('is_online').notNull(),
  hostname: text('hostname').notNull().default(''),
  map: text('map').notNull().default(''),
  playersCount: integer('players_count').notNull().default(0),
  maxPlayers: integer('max_players').notNull().default(0),
  pingMs: integer('ping_ms').notNull().default(0),
  /** Players online, highest score first: in this row, so that list and players are of one moment. */
  players: jsonb('players').$type<ServerPlayer[]>().notNull().default([]),
  /** Polls missed in a row. */
  missedPolls: integer('missed_polls').notNull().default(0),
  polledAt: instant('polled_at').notNull(),
  /** The last poll that was answered. */
  seenAt: instant('seen_at'),
});

/** Player counts over time: one row a poll, thinned to five minutes after a day, kept a year. */
export const serverSamples = pgTable(
  'server_samples',
  {
    serverId: integer('server_id')
      .notNull()
      .references(() => servers.id, { onDelete: 'cascade' }),
    sampledAt: instant('sampled_at').notNull(),
    /** 0: one poll; 300: the five minutes that begin at `sampledAt`. */
    periodSeconds: smallint('period_seconds').notNull().default(0),
    playersAverage: real('players_average').notNull(),
    playersMaximum: smallint('players_maximum').notNull(),
    maxPlayers: smallint('max_players').notNull(),
    /** Share of the period the server was online, 0 to 1. */
    onlineShare: real('online_share').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.serverId, table.sampledAt, table.periodSeconds] }),
    index('server_samples_raw').on(table.sampledAt).where(sql`period_seconds = 0`),
  ],
);

/** Ids that a penalty source uses for one of our servers. */
export const serverAliases = pgTable(
  'server_aliases',
  {
    source: text('source').notNull(),
    sourceServerId: text('source_server_id').notNull(),
    serverId: integer('server_id')
      .notNull()
      .references(() => servers.id, { onDelete: 'cascade' }),
  },
  (table) => [primaryKey({ columns: [table.source, table.sourceServerId] })],
);

/** The systems that penalties are imported from. */
export const PENALTY_SOURCE_KINDS = ['simpleadmin', 'sourcebans', 'iks', 'ndjson'] as const;

/** What each `penalties.source` was imported from, so that no other database overwrites its rows; no credentials. */
export const penaltySources = pgTable('penalty_sources', {
  name: text('name').primaryKey(),
  kind: text('kind', { enum: PENALTY_SOURCE_KINDS }).notNull(),
  /** `host:port/database`, or the path of a file; `''` for lines of JSON. */
  address: text('address').notNull(),
  /** What the names of its tables begin with, where that differs. */
  prefix: text('prefix').notNull().default(''),
});

/** What {@link isPenaltyTime} allows, in PostgreSQL's words; infinity lies beyond both. */
const FIRST_TIME = `${PENALTY_YEARS.first}-01-01 00:00:00+00`;
const AFTER_LAST_TIME = `${PENALTY_YEARS.last + 1}-01-01 00:00:00+00`;

/**
 * Bans, mutes, gags, silences, warnings. `status` may lag behind the clock: an ACTIVE row whose `endsAt` has passed
 * is EXPIRED. Triggers keep `penaltyTallies` in step and times to whole seconds, whoever writes.
 */
export const penalties = pgTable(
  'penalties',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    type: penaltyType('type').notNull(),
    status: penaltyStatus('status').notNull(),
    playerName: text('player_name').notNull().default(''),
    /** `'0'`: unknown (IP ban). */
    playerSteamId: steamId64('player_steamid').notNull(),
    adminName: text('admin_name').notNull().default(''),
    /** `'0'`: the console. */
    adminSteamId: steamId64('admin_steamid').notNull(),
    reason: text('reason').notNull().default(''),
    /** 0: permanent, then `endsAt` is null. */
    durationMinutes: integer('duration_minutes').notNull(),
    /** 0: none. Not a foreign key: sources name servers that no longer exist. */
    serverId: integer('server_id').notNull().default(0),
    createdAt: instant('created_at').notNull(),
    endsAt: instant('ends_at'),
    /** Who lifted it, when and why, where the source tells. */
    liftedAt: instant('lifted_at'),
    liftedByName: text('lifted_by_name'),
    liftedBySteamId: steamId64('lifted_by_steamid'),
    liftReason: text('lift_reason'),
    /** Key of an imported row; null for none. */
    source: text('source'),
    sourceTable: text('source_table'),
    sourceId: text('source_id'),
    /** When an import first missed it at its source. The row stays and is listed. */
    goneAt: instant('gone_at'),
  },
  (table) => [
    uniqueIndex('penalties_source').on(table.source, table.sourceTable, table.sourceId),
    // The columns after the id sort nothing: a walk to a deep page decides by them without visiting the rows it passes.
    index('penalties_created').on(table.createdAt, table.id, table.type, table.status, table.endsAt),
    index('penalties_type_status').on(table.type, table.status, table.createdAt, table.id),
    index('penalties_player').on(table.playerSteamId, table.createdAt, table.id),
    index('penalties_admin').on(
      table.adminSteamId,
      table.createdAt,
      table.id,
      table.type,
      table.status,
      table.endsAt,
    ),
    index('penalties_server').on(
      table.serverId,
      table.createdAt,
      table.id,
      table.type,
      table.status,
      table.endsAt,
    ),
    index('penalties_server_admin').on(table.serverId, table.adminSteamId, table.createdAt, table.id),
    index('penalties_active_bans').on(table.playerSteamId).where(sql`type = 'ban' and status = 'ACTIVE'`),
    check(
      'penalties_times',
      sql.raw(
        ['created_at', 'ends_at', 'lifted_at']
          .map((column) => `(${column} >= '${FIRST_TIME}' and ${column} < '${AFTER_LAST_TIME}')`)
          .join(' and '),
      ),
    ),
    // All that the correction of counts asks of a due row.
    index('penalties_due')
      .on(table.endsAt, table.type, table.createdAt, table.serverId, table.adminSteamId, table.playerSteamId)
      .where(sql`status = 'ACTIVE' and ends_at is not null`),
  ],
);

/** What a tally counts over; `queries/penalty-tallies.ts` reads it, migration 0001 writes it. */
export const TALLY_SCOPES = { all: 0, server: 1, admin: 2, serverAndAdmin: 3, unknownPlayer: 4 } as const;
export const TALLY_PERIODS = { ever: 0, month: 1, day: 2 } as const;

/**
 * How many penalties there are by type and stored status, kept by triggers in the transaction that changes the rows:
 * over all of them, of each server, of each admin, of each server and admin (not by day), of unknown players;
 * ever, by month and by day of `created_at` in UTC.
 */
export const penaltyTallies = pgTable(
  'penalty_tallies',
  {
    scope: smallint('scope').notNull(),
    serverId: integer('server_id').notNull(),
    adminSteamId: steamId64('admin_steamid').notNull(),
    period: smallint('period').notNull(),
    /** First day of the period; 1970-01-01 for ever. */
    bucket: date('bucket', { mode: 'string' }).notNull(),
    /** Fifteen counts: types in the order of PENALTY_TYPES, within each the statuses in the order of PENALTY_STATUSES. */
    counts: integer('counts').array().notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.scope, table.serverId, table.adminSteamId, table.period, table.bucket] }),
  ],
);

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
    isAdmin: boolean('is_admin').notNull().default(false),
    isOwner: boolean('is_owner').notNull().default(false),
    /** Whether `OWNER_STEAMIDS` gave the flag, and takes it away again; null: from before this was kept. */
    adminByConfig: boolean('admin_by_config').default(false),
    ownerByConfig: boolean('owner_by_config').default(false),
    hasSvip: boolean('has_svip').notNull().default(false),
    isServiceplus: boolean('is_serviceplus').notNull().default(false),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (table) => [index('users_created').on(table.createdAt, table.id)],
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

/** Those who act by themselves: `OWNER_STEAMIDS`. */
export type AuditActor = 'configuration';

/** Everything that changed something, and who did it. */
export const auditLog = pgTable(
  'audit_log',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    at: instant('at').notNull().defaultNow(),
    /** The acting user; null for the operator's tool, and for whoever `actor` names. */
    actorUserId: integer('actor_user_id').references(() => users.id, { onDelete: 'set null' }),
    /** Who acted where it was neither a user nor the operator's tool. */
    actor: text('actor').$type<AuditActor>(),
    action: text('action').notNull(),
    subject: text('subject').notNull().default(''),
    details: jsonb('details').$type<Record<string, unknown>>().notNull().default({}),
  },
  (table) => [index('audit_log_at').on(table.at)],
);

/** Small values the service keeps for itself: session secret, hash of the registered commands. */
export const settings = pgTable('settings', {
  key: text('key').primaryKey(),
  value: text('value').notNull(),
});

export const roundSoundStatus = pgEnum('round_sound_status', ROUND_SOUND_STATUSES);

/** Uploaded round-end sounds: at most one `ready` row a player, beside an upload under way or failed. */
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
    /** How often a worker took it; the number also tells a worker whether the row is still its own. */
    attempts: smallint('attempts').notNull().default(0),
    /** Until then no worker takes it: one is at work, or the next attempt is put off. */
    claimedUntil: instant('claimed_until'),
    /** Of the rendered file, hexadecimal; set before the file is moved into place. */
    sha256: text('sha256'),
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

/** Discord messages that the bot keeps up to date; `serverId` null: the list of all servers. */
export const liveStatusMessages = pgTable('live_status_messages', {
  messageId: snowflake('message_id').primaryKey(),
  channelId: snowflake('channel_id').notNull(),
  guildId: snowflake('guild_id'),
  serverId: integer('server_id').references(() => servers.id, { onDelete: 'cascade' }),
  locale: text('locale').notNull(),
  createdAt: instant('created_at').notNull().defaultNow(),
});
