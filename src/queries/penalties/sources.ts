import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, not, type SQL, sql } from 'drizzle-orm';
import { type Db, inTransaction } from '../../db/client.ts';
import { penalties, penaltySources, serverAliases } from '../../db/schema/penalties.ts';
import { settings } from '../../db/schema/settings.ts';
import type { PenaltyType } from '../../domain/penalty.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { recordAudit } from '../audit-log.ts';
import { IS_ASIDE } from './imported.ts';

/** What imports of a source have completed: the zone of the last full read, and when the first one ended. */
export type SourceProgress = Pick<typeof penaltySources.$inferSelect, 'completedAt' | 'timezone'>;

/** The origin of the penalties with one source name. */
export type PenaltySource = Omit<typeof penaltySources.$inferSelect, keyof SourceProgress>;

/** The setting with the tables that reads of a source found. */
export const knownTablesSetting = (source: string): string => `tables.${source}`;

/** The source that was saved under this name, whether or not it has penalties. */
export async function findPenaltySource(
  db: Db,
  name: string,
): Promise<(PenaltySource & SourceProgress) | undefined> {
  const [source] = await db.select().from(penaltySources).where(eq(penaltySources.name, name));
  return source;
}

/** Saves a source, replacing what was saved under its name. */
export async function savePenaltySource(db: Db, { name, ...identity }: PenaltySource): Promise<void> {
  await db
    .insert(penaltySources)
    .values({ name, ...identity })
    .onConflictDoUpdate({ target: penaltySources.name, set: identity });
}

/** Saves the time zone of a full read of a source. */
export async function saveSourceTimezone(db: Db, name: string, timezone: string): Promise<void> {
  await db.update(penaltySources).set({ timezone }).where(eq(penaltySources.name, name));
}

/** Whether there is any penalty from this source. */
export async function hasPenaltiesOf(db: Db, source: string): Promise<boolean> {
  const firstRows = await db
    .select({ id: penalties.id })
    .from(penalties)
    .where(eq(penalties.source, source))
    .limit(1);
  return firstRows.length > 0;
}

/** `types`: all types in the table, so that PostgreSQL can use its indexes of types. */
type StoredTable = { source: string; sourceTable: string; types: readonly PenaltyType[] };

/** The condition of a table's penalties that still had a row when it was last read. */
function isInTable({ source, sourceTable, types }: StoredTable): SQL | undefined {
  return and(
    inArray(penalties.type, [...types]),
    eq(penalties.source, source),
    eq(penalties.sourceTable, sourceTable),
    isNull(penalties.goneAt),
    not(IS_ASIDE),
  );
}

/** Some penalties of a table that are stored as ACTIVE, by id. */
export async function listActivePenaltyKeys(
  db: Db,
  table: StoredTable,
  { after, limit }: { after: number; limit: number },
): Promise<{ id: number; sourceId: string }[]> {
  const rows = await db
    .select({ id: penalties.id, sourceId: penalties.sourceId })
    .from(penalties)
    .where(and(isInTable(table), eq(penalties.status, 'ACTIVE'), gt(penalties.id, after)))
    .orderBy(asc(penalties.id))
    .limit(limit);
  return rows.map(({ id, sourceId }) => ({ id, sourceId: sourceId ?? '' }));
}

/** The ids at the source of the newest penalties of a table. */
export async function listNewestSourceIds(
  db: Db,
  table: StoredTable,
  { limit }: { limit: number },
): Promise<string[]> {
  const rows = await db
    .select({ sourceId: penalties.sourceId })
    .from(penalties)
    .where(isInTable(table))
    .orderBy(desc(penalties.createdAt), desc(penalties.id))
    .limit(limit);
  return rows.map(({ sourceId }) => sourceId ?? '');
}

/**
 * The tables of a source of which something is stored here.
 * @param tables the tables of penalties and of lifts (each with the `source_table` of its penalties), and of servers.
 */
export async function listStoredTables(
  db: Db,
  source: string,
  tables: {
    penalties: Readonly<Record<string, string>>;
    lifts: Readonly<Record<string, string>>;
    servers: string;
  },
): Promise<string[]> {
  const ofTable = (table: string) => and(eq(penalties.source, source), eq(penalties.sourceTable, table));
  const lifted = and(eq(penalties.status, 'UNBANNED'), isNotNull(penalties.liftedBySteamId));
  const conditions = [
    ...Object.entries(tables.penalties).map(([table, of]) => [table, ofTable(of)] as const),
    ...Object.entries(tables.lifts).map(([table, of]) => [table, and(ofTable(of), lifted)] as const),
  ];
  const stored: string[] = [];
  for (const [table, condition] of conditions) {
    const rows = await db.select({ id: penalties.id }).from(penalties).where(condition).limit(1);
    if (rows.length > 0) stored.push(table);
  }
  const aliases = await db.$count(serverAliases, eq(serverAliases.source, source));
  return aliases > 0 ? [...stored, tables.servers] : stored;
}

/** Deletes a source: its origin, its first import, its server aliases, and which tables were read. */
export async function forgetPenaltySource(db: Db, name: string): Promise<void> {
  await db.delete(settings).where(eq(settings.key, knownTablesSetting(name)));
  await db.delete(serverAliases).where(eq(serverAliases.source, name));
  await db.delete(penaltySources).where(eq(penaltySources.name, name));
}

/**
 * Marks an import of a source as completed: from the first time on, its events are not silent.
 * @param details for the audit log, which leaves out rounds of the mirror (actor `configuration`).
 */
export async function completePenaltySource(
  db: Db,
  name: string,
  { actor, details }: { actor: Actor; details: Record<string, unknown> },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    await tx
      .update(penaltySources)
      .set({ completedAt: sql`now()` })
      .where(and(eq(penaltySources.name, name), isNull(penaltySources.completedAt)));
    if (actor === 'configuration') return;
    await recordAudit(tx, { actor, action: 'penalties.imported', subject: name, details });
  });
}
