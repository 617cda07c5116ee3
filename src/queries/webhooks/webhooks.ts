import { and, asc, eq, getTableColumns, isNotNull, isNull, sql } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../../db/client.ts';
import { LOCKS } from '../../db/locks.ts';
import { webhooks } from '../../db/schema/webhooks.ts';
import { Conflict, NotFound } from '../../domain/errors.ts';
import { PENALTY_EVENT_TYPES, type StoredEventType } from '../../domain/event.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { generateWebhookSecret, MAX_WEBHOOKS } from '../../domain/webhook.ts';
import { recordAudit } from '../audit-log.ts';
import { readEventLog } from '../events.ts';

/** An endpoint that receives changes, with the state of its deliveries. */
export type Webhook = Omit<typeof webhooks.$inferSelect, 'secret'>;

/** A webhook with the secret that signs its messages. */
export type SigningWebhook = typeof webhooks.$inferSelect;

const { secret: _, ...SHOWN } = getTableColumns(webhooks);

/**
 * Adds a webhook that receives events from now on. Written to the audit log.
 * @param options.url as `parseUrl` of the endpoint rules returns it.
 * @param options.types undefined: those that concern penalties, now and later.
 * @returns the webhook with its secret, which lists do not show.
 * @throws {Conflict} when there are {@link MAX_WEBHOOKS}.
 */
export async function createWebhook(
  tx: Tx,
  {
    url,
    types,
    now,
    actor,
  }: { url: string; types: readonly StoredEventType[] | undefined; now: Date; actor: Actor },
): Promise<SigningWebhook> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.newWebhook})`);
  const existing = await tx.$count(webhooks);
  if (existing >= MAX_WEBHOOKS) {
    throw new Conflict(`There are at most ${MAX_WEBHOOKS} webhooks: remove one first`);
  }
  const { newestId } = await readEventLog(tx);
  const [row] = await tx
    .insert(webhooks)
    .values({
      url,
      types: types ? [...types] : null,
      secret: generateWebhookSecret(),
      createdAt: now,
      startsAfter: newestId,
      deliveredUpTo: newestId,
    })
    .returning();
  if (!row) throw new Error('the webhook was not inserted');
  await recordAudit(tx, {
    actor,
    action: 'webhook.added',
    subject: nameOf(row),
    details: { types: types?.join(', ') ?? null },
  });
  return row;
}

/** The types that a webhook receives: without chosen ones, those that concern penalties. */
export function typesOf({ types }: Pick<Webhook, 'types'>): readonly StoredEventType[] {
  return types ?? PENALTY_EVENT_TYPES;
}

/** All webhooks, oldest first. */
export async function listWebhooks(db: Db): Promise<Webhook[]> {
  return db.select(SHOWN).from(webhooks).orderBy(asc(webhooks.id));
}

/** All webhooks that are not switched off, with their secrets. */
export async function listActiveWebhooks(db: Db): Promise<SigningWebhook[]> {
  return db.select().from(webhooks).where(isNull(webhooks.switchedOffAt)).orderBy(asc(webhooks.id));
}

/** A webhook by its row id. */
export async function findWebhook(db: Db, id: number): Promise<SigningWebhook | undefined> {
  const [row] = await db.select().from(webhooks).where(eq(webhooks.id, id));
  return row;
}

/** Loads a webhook with its secret. @throws {NotFound} */
export async function loadWebhook(db: Db, id: number): Promise<SigningWebhook> {
  const row = await findWebhook(db, id);
  if (!row) throw new NotFound(`There is no webhook ${id}`);
  return row;
}

/** Removes a webhook and its stored deliveries. Written to the audit log. @throws {NotFound} */
export async function removeWebhook(db: Db, id: number, { actor }: { actor: Actor }): Promise<void> {
  await inTransaction(db, async (tx) => {
    const [row] = await tx.delete(webhooks).where(eq(webhooks.id, id)).returning();
    if (!row) throw new NotFound(`There is no webhook ${id}`);
    await recordAudit(tx, { actor, action: 'webhook.removed', subject: nameOf(row) });
  });
}

/**
 * Switches a webhook on again, or makes a failing one try again now. It continues with the event that it stopped at, or
 * with the oldest that is kept. Written to the audit log.
 * @throws {NotFound}
 */
export async function enableWebhook(db: Db, id: number, { actor }: { actor: Actor }): Promise<void> {
  await inTransaction(db, async (tx) => {
    const [row] = await tx
      .update(webhooks)
      .set({ failures: 0, retryAt: null, switchedOffAt: null, switchedOffReason: null })
      .where(eq(webhooks.id, id))
      .returning();
    if (!row) throw new NotFound(`There is no webhook ${id}`);
    await recordAudit(tx, { actor, action: 'webhook.enabled', subject: nameOf(row) });
  });
}

/** Records a message that somebody sent from a page or the CLI in the audit log. */
export async function recordManualDelivery(
  tx: Tx,
  webhook: Pick<Webhook, 'id' | 'url'>,
  { messageId, ...entry }: { action: 'webhook.tested' | 'webhook.resent'; messageId: string; actor: Actor },
): Promise<void> {
  await recordAudit(tx, { ...entry, subject: nameOf(webhook), details: { messageId } });
}

/** The number of webhooks that are failing, and of those that are switched off. */
export async function countWebhooks(db: Db): Promise<{ failing: number; switchedOff: number }> {
  const [row] = await db
    .select({
      failing: sql<number>`count(*) filter (where ${and(isNull(webhooks.switchedOffAt), sql`${webhooks.failures} > 0`)})::int`,
      switchedOff: sql<number>`count(*) filter (where ${isNotNull(webhooks.switchedOffAt)})::int`,
    })
    .from(webhooks);
  return row ?? { failing: 0, switchedOff: 0 };
}

/** Such as `3 (hooks.example.org)`: the rest of the URL may contain a secret. */
export function nameOf({ id, url }: Pick<Webhook, 'id' | 'url'>): string {
  return `${id} (${new URL(url).host})`;
}
