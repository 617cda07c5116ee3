import { and, asc, eq, getTableColumns, gt, inArray, isNull, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { penaltySources, serverAliases } from '../../db/schema/penalty-sources.ts';
import type { PenaltyType } from '../../domain/penalty.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { recordAudit } from '../audit-log.ts';

/** What the penalties of one source name were imported from. */
export type PenaltySource = Omit<typeof penaltySources.$inferSelect, 'completedAt'>;

export async function findPenaltySource(db: Db, name: string): Promise<PenaltySource | undefined> {
  const { completedAt: _, ...identity } = getTableColumns(penaltySources);
  const [source] = await db.select(identity).from(penaltySources).where(eq(penaltySources.name, name));
  return source;
}

/** Remembers a source, in place of what was remembered under its name. */
export async function savePenaltySource(db: Db, { name, ...identity }: PenaltySource): Promise<void> {
  await db
    .insert(penaltySources)
    .values({ name, ...identity })
    .onConflictDoUpdate({ target: penaltySources.name, set: identity });
}

/** Whether any penalty bears the name of a source. */
export async function hasPenaltiesOf(db: Db, source: string): Promise<boolean> {
  const found = await db
    .select({ id: penalties.id })
    .from(penalties)
    .where(eq(penalties.source, source))
    .limit(1);
  return found.length > 0;
}

/**
 * Penalties of one table of a source that are stored as active and not gone, by id.
 * @param types all that the table holds, which lets PostgreSQL use the index of types and statuses.
 */
export async function listActivePenaltyKeys(
  db: Db,
  { source, sourceTable, types }: { source: string; sourceTable: string; types: readonly PenaltyType[] },
  { after, limit }: { after: number; limit: number },
): Promise<{ id: number; sourceId: string }[]> {
  const rows = await db
    .select({ id: penalties.id, sourceId: penalties.sourceId })
    .from(penalties)
    .where(
      and(
        inArray(penalties.type, [...types]),
        eq(penalties.status, 'ACTIVE'),
        eq(penalties.source, source),
        eq(penalties.sourceTable, sourceTable),
        isNull(penalties.goneAt),
        gt(penalties.id, after),
      ),
    )
    .orderBy(asc(penalties.id))
    .limit(limit);
  return rows.map(({ id, sourceId }) => ({ id, sourceId: sourceId ?? '' }));
}

/** Forgets a source: what it was, that it was ever imported, and which of our servers its ids mean. */
export async function forgetPenaltySource(db: Db, name: string): Promise<void> {
  await db.delete(serverAliases).where(eq(serverAliases.source, name));
  await db.delete(penaltySources).where(eq(penaltySources.name, name));
}

/**
 * Marks an import of a source as completed: from the first time on, its changes cause notifications.
 * @param details what it did, for the audit log. Rounds of the mirror, which the settings start, are not in it.
 */
export async function completePenaltySource(
  db: Db,
  name: string,
  { actor, details }: { actor: Actor; details: Record<string, unknown> },
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx
      .update(penaltySources)
      .set({ completedAt: sql`now()` })
      .where(and(eq(penaltySources.name, name), isNull(penaltySources.completedAt)));
    if (actor === 'configuration') return;
    await recordAudit(tx, { actor, action: 'penalties.imported', subject: name, details });
  });
}
