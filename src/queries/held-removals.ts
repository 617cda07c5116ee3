import { and, asc, eq, notInArray } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../db/client.ts';
import { heldRemovals } from '../db/schema/held-removals.ts';
import { NotFound } from '../domain/errors.ts';
import type { Actor } from '../domain/rights/actor.ts';
import type { FlagSystem } from '../domain/rights/user-flags.ts';
import { recordAudit } from './audit-log.ts';

/** Fewer than this are removed at once, however many there are. */
const MIN_SUDDEN = 21;
/** A loss that every full read has found for this long is carried out. */
const MAX_HELD_MS = 6 * 3_600_000;

/** What a full read of a source would remove here. */
export type Loss = {
  /** The source's table of penalties, or the flag. */
  subject: string;
  /** How many would be removed, and of how many that are here from the source; the first is the one that is reported. */
  counts: readonly { removals: number; total: number }[];
  /** The operator caused it, such as by another mapping of flags. */
  isExpected?: boolean;
};

/** What is held back of one table's penalties, or of one flag. */
export type HeldRemovals = typeof heldRemovals.$inferSelect;

/**
 * Decides which losses of a full read are held back: those of more than 20, and more than half, unless they are accepted or
 * every full read of six hours found them. Remembers what is held; {@link keepHeldRemovals} forgets what no longer is, once
 * the rest was removed.
 * @param losses all of this kind in this system.
 * @param options.isAccepted of {@link areRemovalsAccepted}, as it was when the read began.
 * @returns the subjects that are held: nothing of theirs may be removed.
 */
export async function holdRemovals(
  tx: Tx,
  { system, kind }: Pick<HeldRemovals, 'system' | 'kind'>,
  losses: readonly Loss[],
  { isAccepted, now }: { isAccepted: boolean; now: Date },
): Promise<string[]> {
  const held: string[] = [];
  for (const { subject, counts, isExpected = false } of losses) {
    if (isAccepted || isExpected || !isSudden(counts)) continue;
    const removals = counts[0]?.removals ?? 0;
    const [row] = await tx
      .insert(heldRemovals)
      .values({ system, kind, subject, removals, since: now })
      .onConflictDoUpdate({
        target: [heldRemovals.system, heldRemovals.kind, heldRemovals.subject],
        set: { removals },
      })
      .returning({ since: heldRemovals.since });
    if (row && now.getTime() - row.since.getTime() < MAX_HELD_MS) held.push(subject);
  }
  return held;
}

/** Forgets what was held back before a full read that held only these subjects. */
export async function keepHeldRemovals(
  tx: Tx,
  { system, kind }: Pick<HeldRemovals, 'system' | 'kind'>,
  held: readonly string[],
): Promise<void> {
  const isOfKind = and(eq(heldRemovals.system, system), eq(heldRemovals.kind, kind));
  await tx.delete(heldRemovals).where(and(isOfKind, notInArray(heldRemovals.subject, [...held])));
}

/** Stores which tables of a system are missing; nothing of them is removed. */
export async function saveMissingTables(
  tx: Tx,
  system: FlagSystem,
  tables: readonly string[],
  now: Date,
): Promise<void> {
  await keepHeldRemovals(tx, { system, kind: 'tables' }, tables);
  if (tables.length === 0) return;
  const rows = tables.map((subject) => ({
    system,
    kind: 'tables' as const,
    subject,
    removals: 0,
    since: now,
  }));
  await tx.insert(heldRemovals).values(rows).onConflictDoNothing();
}

/** Whether so much is removed that the source is probably broken. */
export function isSudden(counts: Loss['counts']): boolean {
  return counts.some(({ removals, total }) => removals >= MIN_SUDDEN && removals * 2 > total);
}

/** What is held back, of one system or of all. */
export async function listHeldRemovals(db: Db, system?: FlagSystem): Promise<HeldRemovals[]> {
  return db
    .select()
    .from(heldRemovals)
    .where(system && eq(heldRemovals.system, system))
    .orderBy(asc(heldRemovals.system), asc(heldRemovals.kind), asc(heldRemovals.subject));
}

/** Whether an operator accepted the held removals of a system: the next round is a full read, which carries them out. */
export async function areRemovalsAccepted(db: Db, system: FlagSystem): Promise<boolean> {
  return (await listHeldRemovals(db, system)).some((row) => row.isAccepted);
}

/**
 * Makes the next round of a system a full read that removes what it finds missing. Audited.
 * @throws {NotFound} when nothing of it is held back.
 */
export async function acceptHeldRemovals(
  db: Db,
  system: FlagSystem,
  actor: Actor,
): Promise<Record<string, number>> {
  return inTransaction(db, async (tx) => {
    const isOfSystem = eq(heldRemovals.system, system);
    const accepted = await tx.update(heldRemovals).set({ isAccepted: true }).where(isOfSystem).returning();
    if (accepted.length === 0) throw new NotFound(`nothing of ${system} is held back`);
    const details = countHeldRemovals(accepted);
    await recordAudit(tx, { actor, action: 'removals.accepted', subject: system, details });
    return details;
  });
}

/** How many removals are held: of `penalties` together, and of each flag; and how many missing `tables` there are. */
export function countHeldRemovals(removals: readonly HeldRemovals[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { kind, subject, removals: number } of removals) {
    const key = kind === 'flags' ? subject : kind;
    counts[key] = (counts[key] ?? 0) + (kind === 'tables' ? 1 : number);
  }
  return counts;
}

/** Forgets what was held back of systems that are no longer configured to give it. */
export async function forgetHeldRemovals(
  db: Db,
  kind: HeldRemovals['kind'],
  configured: readonly FlagSystem[],
): Promise<void> {
  await db
    .delete(heldRemovals)
    .where(and(eq(heldRemovals.kind, kind), notInArray(heldRemovals.system, [...configured])));
}
