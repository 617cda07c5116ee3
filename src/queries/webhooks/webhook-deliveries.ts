import { desc, eq, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { webhookDeliveries, webhooks } from '../../db/schema/webhooks.ts';
import { type Delivery, KEPT_DELIVERIES, type SwitchOffReason } from '../../domain/webhook.ts';
import { recordAudit } from '../audit-log.ts';
import { nameOf } from './webhooks.ts';

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

/** Deliveries of a webhook, oldest first. */
type Tries = { webhookId: number; deliveries: readonly Delivery[] };

/**
 * Saves deliveries and the progress of webhooks, in one transaction. Progress only advances, whoever else believes to lead;
 * one that is ahead of the newest event comes from another database.
 * @returns the ids of the webhooks that were saved; those that were removed, switched off or advanced before are left out.
 */
export async function saveProgress(
  db: Db,
  given: readonly (Tries & { progress: Progress })[],
): Promise<ReadonlySet<number>> {
  const rows = given.map(({ webhookId, progress }) => ({
    id: webhookId,
    delivered_up_to: progress.deliveredUpTo,
    failures: progress.failures,
    retry_at: progress.retryAt,
  }));
  return db.transaction(async (tx) => {
    const updated = await tx.execute<{ id: number }>(sql`
      update webhooks set delivered_up_to = given.delivered_up_to, failures = given.failures, retry_at = given.retry_at
      from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as given(
        id int, delivered_up_to bigint, failures int, retry_at timestamptz
      )
      where webhooks.id = given.id and webhooks.switched_off_at is null and (
        webhooks.delivered_up_to <= given.delivered_up_to or webhooks.delivered_up_to >
          (select coalesce((select max(id) from penalty_events), pruned_up_to) from penalty_event_state)
      )
      returning webhooks.id`);
    const saved = new Set(updated.map(({ id }) => id));
    const kept = given.filter(({ webhookId }) => saved.has(webhookId));
    await saveTries(tx, kept);
    for (const { webhookId, progress } of kept) {
      if (progress.switchedOff) await switchOff(tx, webhookId, progress.switchedOff);
    }
    return saved;
  });
}

/** In a statement of its own, since every statement that sets these columns notifies all processes. */
async function switchOff(db: Db, id: number, { at, reason }: SwitchOff): Promise<void> {
  const [row] = await db
    .update(webhooks)
    .set({ switchedOffAt: at, switchedOffReason: reason })
    .where(eq(webhooks.id, id))
    .returning({ id: webhooks.id, url: webhooks.url });
  if (!row) throw new Error(`webhook ${id} is gone`);
  await recordAudit(db, {
    actor: 'service',
    action: 'webhook.switched-off',
    subject: nameOf(row),
    details: { reason },
  });
}

/** Saves deliveries, and keeps the last {@link KEPT_DELIVERIES} of the webhook. */
export async function saveDeliveries(
  db: Db,
  webhookId: number,
  deliveries: readonly Delivery[],
): Promise<void> {
  await saveTries(db, [{ webhookId, deliveries }]);
}

async function saveTries(db: Db, given: readonly Tries[]): Promise<void> {
  const rows = given.flatMap(({ webhookId, deliveries }) =>
    deliveries.map(({ messageId, type, at, durationMs, status, failure }) => ({
      webhook_id: webhookId,
      message_id: messageId,
      type,
      at,
      duration_ms: durationMs,
      status,
      failure,
    })),
  );
  if (rows.length === 0) return;
  // One JSON parameter instead of hundreds, which would cost a busy webhook more time than its messages.
  await db.execute(sql`
    insert into webhook_deliveries (webhook_id, message_id, type, at, duration_ms, status, failure)
    select given.* from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as given(
      webhook_id int, message_id text, type text, at timestamptz, duration_ms int, status int, failure text
    )`);
  const ids = given.map(({ webhookId }) => webhookId);
  await db.execute(sql`
    delete from webhook_deliveries as deliveries
    using jsonb_array_elements_text(${JSON.stringify(ids)}::text::jsonb) as given(id),
      lateral (
        select id from webhook_deliveries where webhook_id = given.id::int
        order by id desc offset ${KEPT_DELIVERIES} limit 1
      ) as oldest
    where deliveries.webhook_id = given.id::int and deliveries.id <= oldest.id`);
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
