import { boolean, integer, jsonb, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import type { FlagSystem } from '../../domain/systems.ts';
import { instant } from './columns.ts';

/** Removals that are held back because a source suddenly lacks much, until it lasts or an operator accepts them. */
export const heldRemovals = pgTable(
  'held_removals',
  {
    system: text('system').$type<FlagSystem>().notNull(),
    /** `tables`: a table that is missing, of which nothing is removed; it has 0 removals. */
    kind: text('kind').$type<'penalties' | 'flags' | 'tables'>().notNull(),
    /** The source's table, or the flag. */
    subject: text('subject').notNull(),
    /** How many the last full read would have removed. */
    removals: integer('removals').notNull(),
    /** When a full read first held them back. */
    since: instant('since').notNull(),
    /** The number of removals, and the number of stored penalties or flags. */
    counts: jsonb('counts').$type<readonly { removals: number; total: number }[]>().notNull().default([]),
    /** How many further full reads held them back, and when the last of them did. */
    confirmations: integer('confirmations').notNull().default(0),
    confirmedAt: instant('confirmed_at'),
    /** Accepted by an operator: the next full read carries out what it finds. */
    isAccepted: boolean('is_accepted').notNull().default(false),
  },
  (table) => [primaryKey({ columns: [table.system, table.kind, table.subject] })],
);
