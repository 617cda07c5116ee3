import { bigint, index, integer, pgTable, text } from 'drizzle-orm/pg-core';
import type { DeliveryFailure, SwitchOffReason } from '../../domain/webhook.ts';
import { instant } from './columns.ts';
import { penaltyEventType } from './penalties.ts';

/** Endpoints that receive events. */
export const webhooks = pgTable('webhooks', {
  id: integer('id').primaryKey().generatedAlwaysAsIdentity(),
  url: text('url').notNull(),
  /** Null: all that concern penalties. */
  types: penaltyEventType('types').array(),
  /** Stored in plain text, because it signs every message. */
  secret: text('secret').notNull(),
  createdAt: instant('created_at').notNull(),
  /** The newest event when it was created; it receives later ones. */
  startsAfter: bigint('starts_after', { mode: 'number' }).notNull().default(0),
  /** Events up to this id were delivered, or are not of its types. */
  deliveredUpTo: bigint('delivered_up_to', { mode: 'number' }).notNull(),
  /** Failed attempts to deliver the next event. */
  failures: integer('failures').notNull().default(0),
  retryAt: instant('retry_at'),
  switchedOffAt: instant('switched_off_at'),
  switchedOffReason: text('switched_off_reason').$type<SwitchOffReason>(),
});

/** The latest delivery attempts of each webhook. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedAlwaysAsIdentity(),
    webhookId: integer('webhook_id')
      .notNull()
      .references(() => webhooks.id, { onDelete: 'cascade' }),
    messageId: text('message_id').notNull(),
    type: text('type').notNull(),
    at: instant('at').notNull(),
    durationMs: integer('duration_ms').notNull(),
    status: integer('status'),
    failure: text('failure').$type<DeliveryFailure>(),
  },
  (table) => [index('webhook_deliveries_of').on(table.webhookId, table.id)],
);
