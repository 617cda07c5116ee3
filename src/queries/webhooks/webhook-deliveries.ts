import { and, desc, eq, gt, isNull, lte, or, sql } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../../db/client.ts';
import { webhookDeliveries, webhooks } from '../../db/schema/webhooks.ts';
import { type Delivery, KEPT_DELIVERIES, type SwitchOffReason } from '../../domain/webhook.ts';
import { recordAudit } from '../audit-log.ts';
import { nameOf, type Webhook } from './webhooks.ts';

/** The delivery progress of a webhook. */
export type Progress = {
  deliveredUpTo: number;
  /** Failed attempts to deliver the next event. */
  failures: number;
  retryAt: Date | null;
  /** Set when it is being switched off, which is written to the audit log. */
  switchedOff?: SwitchOff | undefined;
};

type SwitchOff = { at: Date; reason: SwitchOffReason };

/**
 * Saves deliveries, oldest first, and the progress of a webhook. Progress only advances, even if two processes deliver;
 * one ahead of the newest event comes from another database and is replaced.
 * @returns false, without saving, when the webhook was removed, switched off or advanced before.
 */
export async function saveProgress(
  db: Db,
  id: number,
  { progress, deliveries }: { progress: Progress; deliveries: readonly Delivery[] },
): Promise<boolean> {
  const { deliveredUpTo, failures, retryAt, switchedOff } = progress;
  return inTransaction(db, async (tx) => {
    const newestId = sql`(select coalesce((select max(id) from penalty_events), pruned_up_to) from penalty_event_state)`;
    const isBehind = or(lte(webhooks.deliveredUpTo, deliveredUpTo), gt(webhooks.deliveredUpTo, newestId));
    const [row] = await tx
      .update(webhooks)
      .set({ deliveredUpTo, failures, retryAt })
      .where(and(eq(webhooks.id, id), isNull(webhooks.switchedOffAt), isBehind))
      .returning({ id: webhooks.id, url: webhooks.url });
    if (!row) return false;
    await saveDeliveries(tx, id, deliveries);
    if (switchedOff) await switchOff(tx, row, switchedOff);
    return true;
  });
}

/** A separate statement, since every statement that sets these columns notifies all processes. */
async function switchOff(
  tx: Tx,
  webhook: Pick<Webhook, 'id' | 'url'>,
  { at, reason }: SwitchOff,
): Promise<void> {
  await tx
    .update(webhooks)
    .set({ switchedOffAt: at, switchedOffReason: reason })
    .where(eq(webhooks.id, webhook.id));
  await recordAudit(tx, {
    actor: 'service',
    action: 'webhook.switched-off',
    subject: nameOf(webhook),
    details: { reason },
  });
}

/** Saves deliveries, oldest first, and keeps the last {@link KEPT_DELIVERIES} of the webhook. */
export async function saveDeliveries(
  tx: Tx,
  webhookId: number,
  deliveries: readonly Delivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  await tx.insert(webhookDeliveries).values(deliveries.map((delivery) => ({ ...delivery, webhookId })));
  const oldest = tx
    .select({ id: webhookDeliveries.id })
    .from(webhookDeliveries)
    .where(eq(webhookDeliveries.webhookId, webhookId))
    .orderBy(desc(webhookDeliveries.id))
    .offset(KEPT_DELIVERIES)
    .limit(1);
  await tx
    .delete(webhookDeliveries)
    .where(and(eq(webhookDeliveries.webhookId, webhookId), lte(webhookDeliveries.id, sql`(${oldest})`)));
}

/** The stored deliveries of a webhook, newest first. */
export async function listDeliveries(db: Db, webhookId: number): Promise<Delivery[]> {
  const { messageId, type, at, durationMs, status, failure } = webhookDeliveries;
  return db
    .select({ messageId, type, at, durationMs, status, failure })
    .from(webhookDeliveries)
    .where(eq(webhookDeliveries.webhookId, webhookId))
    .orderBy(desc(webhookDeliveries.id));
}
