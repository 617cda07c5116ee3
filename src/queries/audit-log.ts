import { and, desc, eq, getTableColumns, gte, lte, type SQL, sql } from 'drizzle-orm';
import type { Db, Tx } from '../db/client.ts';
import { type AuditActor, auditLog, users } from '../db/schema/accounts.ts';
import type { Actor } from '../domain/rights/actor.ts';
import type { SteamId64 } from '../domain/steam-id.ts';

/** Everything that is recorded; the audit page has a sentence for each. */
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
  'note.added',
  'note.deleted',
  'appeal.opened',
  'appeal.answered',
  'appeal.asked',
  'appeal.withdrawn',
  'appeal.accepted',
  'appeal.denied',
  'appeal.closed',
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
  'penalty.lifted_at_source',
  'webhook.added',
  'webhook.removed',
  'webhook.enabled',
  'webhook.switched-off',
  'webhook.tested',
  'webhook.resent',
  'feed.started',
  'feed.changed',
  'feed.stopped',
  'feed.paused',
  'feed.resumed',
  'feed.switched-off',
  'live-message.posted',
  'live-message.dropped',
  'live-message.paused',
  'live-message.resumed',
  'penalties.recounted',
  'removals.accepted',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** The subject of entries about somebody whose personal data was erased; see {@link isAboutErasedPlayer}. */
export const ERASED_SUBJECT = 'erased';

export type AuditEntry = Omit<typeof auditLog.$inferSelect, 'actorUserId' | 'actor'> & {
  /** Undefined: the operator's tool, or a user who was deleted. */
  actor: { steamId64: SteamId64; nickname: string } | AuditActor | undefined;
};

/** Whether an entry is about somebody whose personal data was erased. Servers and sources may have that name too. */
export function isAboutErasedPlayer({ action, subject }: Pick<AuditEntry, 'action' | 'subject'>): boolean {
  return subject === ERASED_SUBJECT && /^(user|token|note|appeal|penalty|discord|sound)\./.test(action);
}

type NewEntry = {
  actor: Actor;
  action: AuditAction;
  /** What was changed: a user's SteamID64, a server's slug, a source's name, a webhook, a Discord channel. */
  subject: string;
  /** Never a token, a secret or an address. */
  details?: Record<string, unknown>;
};

/**
 * Writes one entry. Called by the query that makes the change, in its transaction: neither exists without the other,
 * and no caller can forget it.
 */
export async function recordAudit(tx: Tx, { actor, action, subject, details = {} }: NewEntry): Promise<void> {
  const { discordMember, ...columns } = await identify(tx, actor);
  await tx
    .insert(auditLog)
    .values({ ...columns, action, subject, details: { ...details, ...discordMember } });
}

/** Writes many entries of actors who are no users, in one statement. */
export async function recordAudits(
  tx: Tx,
  entries: readonly (NewEntry & { actor: AuditActor; details: object })[],
): Promise<void> {
  if (entries.length === 0) return;
  await tx.execute(sql`insert into ${auditLog} (actor, action, subject, details)
    select * from jsonb_to_recordset(${JSON.stringify(entries)}::text::jsonb)
      as entries (actor text, action text, subject text, details jsonb)`);
}

/** The actor's columns. A Discord id is stored only if no user is linked to it. */
async function identify(tx: Tx, actor: Actor) {
  if (actor === 'operator') return { actorUserId: null, actor: null };
  if (typeof actor === 'string') return { actorUserId: null, actor };
  if ('userId' in actor) return { actorUserId: actor.userId, actor: null };
  const { discordId } = actor;
  const [user] = await tx.select({ id: users.id }).from(users).where(eq(users.discordId, discordId));
  if (user) return { actorUserId: user.id, actor: null };
  return { actorUserId: null, actor: 'discord-member' as const, discordMember: { discordId } };
}

/** A Discord channel as the subject of an entry; with `#`, because 17 plain digits would be a SteamID64. */
export function channelSubject(channelId: string): string {
  return `#${channelId}`;
}

type AuditFilter = {
  /** Who did it. */
  who?: SteamId64 | undefined;
  /** Whom it concerns. */
  whom?: SteamId64 | undefined;
  action?: AuditAction | undefined;
  /** From its first to its last moment. */
  day?: { from: Date; to: Date } | undefined;
};

/** Entries of the audit log, newest first. @param options.limit 50 by default. */
export async function listAuditEntries(
  db: Db,
  filter: AuditFilter = {},
  { limit = 50, offset = 0 }: { limit?: number; offset?: number } = {},
): Promise<AuditEntry[]> {
  const rows = await db
    .select({ ...getTableColumns(auditLog), steamId64: users.steamId64, nickname: users.nickname })
    .from(auditLog)
    .leftJoin(users, eq(users.id, auditLog.actorUserId))
    .where(isInFilter(filter))
    .orderBy(desc(auditLog.id))
    .limit(limit)
    .offset(offset);
  return rows.map(({ actorUserId: _, actor, steamId64, nickname, ...entry }) => ({
    ...entry,
    actor: steamId64 === null ? (actor ?? undefined) : { steamId64, nickname: nickname ?? '' },
  }));
}

/** How many entries of the audit log there are. */
export function countAuditEntries(db: Db, filter: AuditFilter): Promise<number> {
  return db.$count(auditLog, isInFilter(filter));
}

function isInFilter({ who, whom, action, day }: AuditFilter): SQL | undefined {
  return and(
    who &&
      sql`${auditLog.actorUserId} = (select ${users.id} from ${users} where ${users.steamId64} = ${who})`,
    whom && eq(auditLog.subject, whom),
    action && eq(auditLog.action, action),
    day && gte(auditLog.at, day.from),
    day && lte(auditLog.at, day.to),
  );
}
