import { desc, eq, lt } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { users } from '../db/schema/accounts.ts';
import { type AuditActor, auditLog } from '../db/schema/audit-log.ts';
import type { Actor } from '../domain/rights/actor.ts';

/** What can be done that changes something; the page has a sentence for each. */
export const AUDIT_ACTIONS = [
  'user.created',
  'user.signed-in',
  'user.signed-out-everywhere',
  'user.session-ended',
  'user.flags-set',
  'user.changed',
  'user.blocked',
  'user.unblocked',
  'user.exported',
  'user.deleted',
  'user.erased',
  'token.created',
  'token.revoked',
  'discord.linked',
  'discord.unlinked',
  'discord.hidden',
  'discord.shown',
  'sound.uploaded',
  'sound.removed',
  'server.added',
  'server.removed',
  'server.changed',
  'server.shown',
  'server.hidden',
  'penalties.imported',
  'webhook.added',
  'webhook.removed',
  'webhook.enabled',
  'webhook.switched-off',
  'webhook.tested',
  'webhook.resent',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export type AuditEntry = {
  id: number;
  at: Date;
  action: string;
  /** The SteamID64 of the user, the slug of the server, the name of the source, or the webhook, it was done to. */
  subject: string;
  details: Record<string, unknown>;
  /** Undefined: the operator's tool, or a user who is gone. */
  actor: { steamId64: string; nickname: string } | AuditActor | undefined;
};

type NewEntry = {
  actor: Actor;
  action: AuditAction;
  /** The SteamID64 of the user, the slug of the server, the name of the source, or the webhook, it was done to. */
  subject: string;
  /** Never a token, a secret or an address. */
  details?: Record<string, unknown>;
};

/**
 * Writes one line. Called by the query that makes the change, in its transaction, so that neither exists without the
 * other and no caller can forget it.
 */
export async function recordAudit(db: Db, { actor, action, subject, details = {} }: NewEntry): Promise<void> {
  const who = {
    actorUserId: typeof actor === 'object' ? actor.userId : null,
    actor: typeof actor === 'object' || actor === 'operator' ? null : actor,
  };
  await db.insert(auditLog).values({ ...who, action, subject, details });
}

/**
 * Newest first.
 * @param before only entries older than this id, for the next page.
 * @param limit 50 by default.
 */
export async function listAuditEntries(
  db: Db,
  { before, limit = 50 }: { before?: number | undefined; limit?: number } = {},
): Promise<AuditEntry[]> {
  const rows = await db
    .select({ entry: auditLog, steamId64: users.steamId64, nickname: users.nickname })
    .from(auditLog)
    .leftJoin(users, eq(users.id, auditLog.actorUserId))
    .where(before === undefined ? undefined : lt(auditLog.id, before))
    .orderBy(desc(auditLog.id))
    .limit(limit);
  return rows.map(({ entry, steamId64, nickname }) => ({
    id: entry.id,
    at: entry.at,
    action: entry.action,
    subject: entry.subject,
    details: entry.details,
    actor: steamId64 === null ? (entry.actor ?? undefined) : { steamId64, nickname: nickname ?? '' },
  }));
}
