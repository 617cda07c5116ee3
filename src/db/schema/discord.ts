import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
} from 'drizzle-orm/pg-core';
import { FEED_CHANGES } from '../../domain/discord-feed.ts';
import { FEED_SUBJECTS } from '../../domain/event.ts';
import type { Language } from '../../domain/language.ts';
import type { UserFlag } from '../../domain/rights/user-flags.ts';
import { users } from './accounts.ts';
import { instant, snowflake } from './columns.ts';
import { penaltyType } from './penalties.ts';
import { servers } from './servers.ts';

/** Discord channels in which changes of penalties, servers or appeals are posted; one feed of each subject in a channel. */
export const discordFeeds = pgTable(
  'discord_feeds',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    subject: text('subject', { enum: FEED_SUBJECTS }).notNull(),
    channelId: snowflake('channel_id').notNull(),
    guildId: snowflake('guild_id').notNull(),
    /** Who gets a direct message when the feed is paused or switched off. */
    startedBy: snowflake('started_by').notNull(),
    /** Of the guild, when the feed was started. */
    locale: text('locale').notNull(),
    /** Null: all. */
    penaltyTypes: penaltyType('penalty_types').array(),
    /** Null: all. */
    serverId: integer('server_id').references(() => servers.id, { onDelete: 'cascade' }),
    /** Posts when a server has this many players; null: never. */
    playersAtLeast: smallint('players_at_least'),
    /** Mentioned in that message; null: nobody is. */
    roleId: snowflake('role_id'),
    /** For how many minutes a server has to be down before that is posted. */
    afterMinutes: smallint('after_minutes').notNull().default(3),
    /** Since when nothing is posted because Discord refused it too often; null: the feed is not paused. */
    pausedAt: instant('paused_at'),
    /** The sequence of penalty events that `cursor` belongs to. */
    epoch: text('epoch').notNull(),
    /** The newest penalty event that was posted or skipped; for a feed of servers, the newest when it was started. */
    cursor: bigint('cursor', { mode: 'number' }).notNull(),
    /** The cursor after the message that is being posted; null: none is. */
    postingUpTo: bigint('posting_up_to', { mode: 'number' }),
    /** When a feed of appeals last reported long waits; null: never. */
    remindedAt: instant('reminded_at'),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (table) => [unique('discord_feeds_one_each').on(table.channelId, table.subject)],
);

/** Which message of a feed shows which penalty or appeal, so that it is edited when that changes. */
export const discordFeedPosts = pgTable(
  'discord_feed_posts',
  {
    feedId: integer('feed_id')
      .notNull()
      .references(() => discordFeeds.id, { onDelete: 'cascade' }),
    /**
     * Of a penalty or an appeal; 1.0.0 knows penalties only. Not a foreign key: the message is edited once more after a
     * deletion.
     */
    subjectId: bigint('penalty_id', { mode: 'number' }).notNull(),
    messageId: snowflake('message_id').notNull(),
    /**
     * The newest event that the message does not show; null: it is up to date. A trigger writes 0 when an appeal is
     * deleted, which is no event.
     */
    editEventId: bigint('edit_event_id', { mode: 'number' }),
    /** When the newest reply to the message was posted; null: there is none. */
    repliedAt: instant('replied_at'),
  },
  (table) => [
    primaryKey({ columns: [table.feedId, table.subjectId] }),
    index('discord_feed_posts_due').on(table.feedId, table.editEventId).where(sql`edit_event_id is not null`),
  ],
);

/** What a feed has posted about each server. */
export const discordFeedServers = pgTable(
  'discord_feed_servers',
  {
    feedId: integer('feed_id')
      .notNull()
      .references(() => discordFeeds.id, { onDelete: 'cascade' }),
    serverId: integer('server_id')
      .notNull()
      .references(() => servers.id, { onDelete: 'cascade' }),
    isOnline: boolean('is_online').notNull(),
    /** `players_at_least` was reached, and the number of players has not fallen clearly below it since. */
    hasPlayers: boolean('has_players').notNull(),
    /** When the number of players was last posted. */
    calledAt: instant('called_at'),
    /** The change that is still to be posted, `down` only once the server has been down for long enough; null: none. */
    pending: text('pending', { enum: FEED_CHANGES }),
    /** Since when that, or the previous one, is pending; null: nothing ever was. */
    pendingSince: instant('pending_since'),
    /** When `down` was posted within the hour before the last time. */
    downAt: instant('down_at').array().notNull().default([]),
  },
  (table) => [primaryKey({ columns: [table.feedId, table.serverId] })],
);

/** Who gets a direct message when a server has enough players. */
export const discordNotifications = pgTable(
  'discord_notifications',
  {
    discordId: snowflake('discord_id').notNull(),
    serverId: integer('server_id')
      .notNull()
      .references(() => servers.id, { onDelete: 'cascade' }),
    playersAtLeast: smallint('players_at_least').notNull(),
    /** The person's language when they asked for it. */
    locale: text('locale').notNull(),
    /** The server has had clearly fewer players for a while since the last message. */
    isArmed: boolean('is_armed').notNull(),
    /** When the last message was sent; null: none was. */
    notifiedAt: instant('notified_at'),
    /** Since when messages are paused because the person accepts none from the bot; null: they are not paused. */
    pausedAt: instant('paused_at'),
    createdAt: instant('created_at').notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.discordId, table.serverId] })],
);

/**
 * Users with a linked Discord account who get direct messages about their own penalties. A trigger deletes a row when the link
 * of its user changes or ends.
 */
export const discordPenaltyNews = pgTable('discord_penalty_news', {
  userId: integer('user_id')
    .primaryKey()
    .references(() => users.id, { onDelete: 'cascade' }),
  /** The language of the page on which they asked for it. */
  language: text('locale').$type<Language>().notNull(),
  /** The last event that was reported to them; at first, the newest when they asked. */
  upToEvent: bigint('up_to_event', { mode: 'number' }).notNull(),
  /** Since when messages are paused because they accept none from the bot; null: they are not paused. */
  endedAt: instant('ended_at'),
});

/**
 * Discord messages that the bot keeps up to date. `serverId` null: the list of all servers; it may name a server that was
 * removed, until the bot has said so in the message.
 */
export const liveStatusMessages = pgTable('live_status_messages', {
  messageId: snowflake('message_id').primaryKey(),
  channelId: snowflake('channel_id').notNull(),
  guildId: snowflake('guild_id'),
  serverId: integer('server_id'),
  locale: text('locale').notNull(),
  /** Gets a direct message when it is paused; null: nobody does, or the person was erased. */
  pinnedBy: snowflake('pinned_by'),
  /** Since when edits are paused because Discord refused too many; null: they are not paused. */
  pausedAt: instant('paused_at'),
  createdAt: instant('created_at').notNull().defaultNow(),
});

/**
 * Linked members of the guild of `DISCORD_GUILD_ID`, and people whose given roles still have to be taken since they
 * unlinked their account or were erased. Only with `DISCORD_ROLE_FLAGS` or `DISCORD_GIVE_ROLES`.
 */
export const discordMembers = pgTable(
  'discord_members',
  {
    discordId: snowflake('discord_id').primaryKey(),
    /** Which roles of `DISCORD_GIVE_ROLES` they should have had when Discord was last asked. */
    roles: snowflake('roles').array().notNull().default([]),
    /** When a read of their roles last found a change; null: never. */
    readAt: instant('read_at'),
    /** The flags that their roles gave then; null: unknown. */
    flags: text('flags').array().$type<UserFlag[]>(),
    /**
     * When they are due to be read; the earliest goes first. A trigger moves it a year back when their flags or link change,
     * before everybody else who is due.
     */
    dueAt: instant('due_at').notNull().defaultNow(),
    /** Failures in a row that are about them. */
    failures: smallint('failures').notNull().default(0),
    /** What failed last; null: nothing. */
    problem: text('problem'),
  },
  // No index of `due_at`, which changes each hour: the row's new version then takes the place of the old one, and no index is
  // written. Ten thousand members are searched in two milliseconds.
  (table) => [index('discord_members_problem').on(table.problem).where(sql`problem is not null`)],
);
