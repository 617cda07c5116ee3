import { sql } from 'drizzle-orm';
import {
  boolean,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  real,
  smallint,
  text,
} from 'drizzle-orm/pg-core';
import { instant } from './columns.ts';

/** A player on a server, as A2S_PLAYER reports it; `seconds` since they joined, where the server knows. */
export type ServerPlayer = { name: string; score: number; seconds?: number };

/** The polled game servers; addresses are as configured, `host:port`. */
export const servers = pgTable('servers', {
  id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
  slug: text('slug').notNull().unique(),
  name: text('name').notNull(),
  /** The one that is polled. */
  address: text('address').notNull().unique(),
  /** The one that is shown to players; null: the same. */
  publicAddress: text('public_address').unique(),
  mode: text('mode').notNull().default(''),
  region: text('region').notNull().default(''),
  /** Neither listed nor polled; servers that an import adds are hidden until an operator unhides them. */
  isHidden: boolean('is_hidden').notNull().default(false),
  /** Where it stands on pages and Discord: the lowest first, ties by name. */
  position: integer('position').notNull().default(0),
  createdAt: instant('created_at').notNull().defaultNow(),
});

/** The ids of removed servers by their addresses: penalties still name them, and a server that comes back gets its own. */
export const removedServers = pgTable('removed_servers', {
  address: text('address').primaryKey(),
  serverId: integer('server_id').notNull(),
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
  /** Players online, highest score first; in this row, so that list and players are from the same poll. */
  players: jsonb('players').$type<ServerPlayer[]>().notNull().default([]),
  /** Polls missed in a row. */
  missedPolls: integer('missed_polls').notNull().default(0),
  polledAt: instant('polled_at').notNull(),
  /** The last poll with a response. */
  seenAt: instant('seen_at'),
  /** The first of the latest polls in a row that found the server full; null while it is not full, or offline. */
  fullSince: instant('full_since'),
});

/** Player counts over time: one row a poll, merged into five minutes after a day, into hours after 31 days, kept a year. */
export const serverSamples = pgTable(
  'server_samples',
  {
    serverId: integer('server_id')
      .notNull()
      .references(() => servers.id, { onDelete: 'cascade' }),
    sampledAt: instant('sampled_at').notNull(),
    /** 0: one poll; 300: the five minutes that begin at `sampledAt`; later how much of the hour that begins then was polled. */
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

/** When a server played which map: from the first to the last consecutive poll with that map; kept a year. */
export const serverMapPeriods = pgTable(
  'server_map_periods',
  {
    serverId: integer('server_id')
      .notNull()
      .references(() => servers.id, { onDelete: 'cascade' }),
    map: text('map').notNull(),
    startedAt: instant('started_at').notNull(),
    endedAt: instant('ended_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.serverId, table.startedAt] })],
);
