import { sql } from 'drizzle-orm';
import { bigint, boolean, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core';
import type { AppealEnding, AppealNews, AppealState, AppealTurn, MessageKind } from '../../domain/appeal.ts';
import { DEFAULT_LANGUAGE, type Language } from '../../domain/language.ts';
import { users } from './accounts.ts';
import { instant, steamId64 } from './columns.ts';

/** Appeals of players against their penalties. */
export const appeals = pgTable(
  'appeals',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    /** Not a foreign key: a restored backup or another program may have removed it. */
    penaltyId: bigint('penalty_id', { mode: 'number' }).notNull(),
    playerSteamId: steamId64('player_steamid').notNull(),
    state: text('state').$type<AppealState>().notNull().default('undecided'),
    openedAt: instant('opened_at').notNull(),
    /** When it was accepted, denied or closed. */
    decidedAt: instant('decided_at'),
    /** Why it was closed, or how the penalty of an accepted one ended; else null. */
    ending: text('ending').$type<AppealEnding>(),
    /** Null: it waits for nobody. */
    waitsFor: text('waits_for').$type<AppealTurn>(),
    /** Since when it waits; if it waits for nobody, the start of its last wait. */
    waitingSince: instant('waiting_since').notNull().defaultNow(),
    /** Whether the player wants direct messages on Discord. */
    wantsMessages: boolean('wants_messages').notNull(),
    /** The language of the page on which it was opened, and of direct messages. */
    language: text('locale').$type<Language>().notNull().default(DEFAULT_LANGUAGE),
    /** The news that is still to be sent to the player on Discord. */
    unsentNews: text('unsent_news').$type<AppealNews>(),
  },
  (table) => [
    uniqueIndex('appeals_undecided').on(table.penaltyId).where(sql`state = 'undecided'`),
    index('appeals_penalty').on(table.penaltyId),
    index('appeals_player').on(table.playerSteamId),
    index('appeals_waiting').on(table.waitsFor, table.waitingSince, table.id),
    index('appeals_over').on(table.decidedAt, table.id).where(sql`waits_for is null`),
    index('appeals_unsent_news').on(table.id).where(sql`unsent_news is not null`),
  ],
);

/** The conversation of an appeal, decisions included. */
export const appealMessages = pgTable(
  'appeal_messages',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    appealId: integer('appeal_id')
      .notNull()
      .references(() => appeals.id, { onDelete: 'cascade' }),
    kind: text('kind').$type<MessageKind>().notNull(),
    /** Who wrote it for the staff; null for the player's, and for an author whose account was deleted. */
    authorUserId: integer('author_user_id').references(() => users.id, { onDelete: 'set null' }),
    text: text('text').notNull(),
    createdAt: instant('created_at').notNull(),
  },
  (table) => [
    index('appeal_messages_appeal').on(table.appealId, table.id),
    index('appeal_messages_author').on(table.authorUserId),
  ],
);

/**
 * Appeals that were deleted with their account, as far and as long as limits count them; see
 * `queries/appeals/limits.ts`.
 */
export const erasedAppeals = pgTable(
  'erased_appeals',
  {
    id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
    /** Of the player, as in `erased_people`. */
    idHash: text('id_hash').notNull(),
    /** Null: it counts only towards the limit of 24 hours. */
    penaltyId: bigint('penalty_id', { mode: 'number' }),
    state: text('state').$type<AppealState>().notNull(),
    openedAt: instant('opened_at').notNull(),
    decidedAt: instant('decided_at'),
  },
  (table) => [index('erased_appeals_player').on(table.idHash)],
);
