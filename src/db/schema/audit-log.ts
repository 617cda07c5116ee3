import { sql } from 'drizzle-orm';
import { bigint, index, integer, jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import type { Actor } from '../../domain/rights/actor.ts';
import { users } from './accounts.ts';
import { instant } from './columns.ts';

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
