import { and, desc, eq, isNull, lte, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { webhookDeliveries, webhooks } from '../../db/schema/webhooks.ts';
import { type Delivery, KEPT_DELIVERIES, type SwitchOffReason } from '../../domain/webhook.ts';
import { recordAudit } from '../audit-log.ts';
import { nameOf } from './webhooks.ts';

/** The delivery progress of a webhook. */
export type Progress = {
  deliveredUpTo: number;
  /** Failed tries to deliver the next event. */
  failures: number;
  retryAt: Date | null;
  /** Set when it is being switched off, which is written to the audit log. */
  switchedOff?: { at: Date; reason: SwitchOffReason } | undefined;
};

/**
 * Saves deliveries and the progress of a webhook.
 * @returns false when the webhook was removed or switched off: then nothing is saved.
 */
export async function saveProgress(
  db: Db,
  id: number,
  { deliveredUpTo, failures, retryAt, switchedOff }: Progress,
  deliveries: readonly Delivery[],
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [row] = await tx
      .update(webhooks)
      .set({
        deliveredUpTo,
        failures,
        retryAt,
        ...(switchedOff && { switchedOffAt: switchedOff.at, switchedOffReason: switchedOff.reason }),
      })
      .where(and(eq(webhooks.id, id), isNull(webhooks.switchedOffAt)))
      .returning({ id: webhooks.id, url: webhooks.url });
    if (!row) return false;
    await saveDeliveries(tx, id, deliveries);
    if (switchedOff) {
      await recordAudit(tx, {
        actor: 'service',
        action: 'webhook.switched-off',
        subject: nameOf(row),
        details: { reason: switchedOff.reason },
      });
    }
    return true;
  });
}

/** Saves deliveries, and keeps the last {@link KEPT_DELIVERIES} of the webhook. */
export async function saveDeliveries(
  db: Db,
  webhookId: number,
  deliveries: readonly Delivery[],
): Promise<void> {
  if (deliveries.length === 0) return;
  const rows = deliveries.map(({ messageId, type, at, durationMs, status, failure }) => ({
    message_id: messageId,
    type,
    at,
    duration_ms: durationMs,
    status,
    failure,
  }));
  // One JSON parameter instead of hundreds, which would cost a busy webhook more time than its messages.
  await db.execute(sql`
    insert into webhook_deliveries (webhook_id, message_id, type, at, duration_ms, status, failure)
    select ${webhookId}, given.* from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as given(
      message_id text, type text, at timestamptz, duration_ms int, status int, failure text
    )`);
  const oldest = sql`(select id from webhook_deliveries where webhook_id = ${webhookId}
    order by id desc offset ${KEPT_DELIVERIES} limit 1)`;
  await db
    .delete(webhookDeliveries)
    .where(and(eq(webhookDeliveries.webhookId, webhookId), lte(webhookDeliveries.id, oldest)));
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
