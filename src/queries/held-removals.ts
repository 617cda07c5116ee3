import { and, asc, eq, notInArray } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../db/client.ts';
import { heldRemovals } from '../db/schema/held-removals.ts';
import { NotFound } from '../domain/errors.ts';
import type { Actor } from '../domain/rights/actor.ts';
import type { FlagSystem } from '../domain/systems.ts';
import { HOUR_MS } from '../domain/time.ts';
import { recordAudit } from './audit-log.ts';

/** Fewer than this are removed at once, however many there are. */
const MIN_SUDDEN = 5;
/** A loss is carried out by the first full read after `forMs` if as many others confirmed it, the last of them recently. */
const LASTING = { forMs: 6 * HOUR_MS, confirmations: 4, confirmedWithinMs: 2 * HOUR_MS };
/** A loss that has grown by more than this counts as a new one. */
const MAX_GROWTH = 1.1;

/** What a full read of a source would remove here. */
export type Loss = {
  /** The source's table of penalties, or the flag. */
  subject: string;
  /** `removals` of `total` penalties or flags would be removed; the first pair is reported. */
  counts: HeldRemovals['counts'];
  /** The operator caused it, such as by another mapping of flags. */
  isExpected?: boolean;
};

/** What is held back of one table's penalties, or of one flag. */
export type HeldRemovals = typeof heldRemovals.$inferSelect;

/**
 * Decides which losses of a full read are held back: those of at least five, and more than half, unless they are accepted or
 * have lasted for six hours. Stores the held subjects. {@link keepHeldRemovals} deletes the others after the removals.
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
  const rows = (await listHeldRemovals(tx, system)).filter((row) => row.kind === kind);
  const held: string[] = [];
  for (const { subject, counts, isExpected = false } of losses) {
    const row = rows.find((each) => each.subject === subject);
    // Entries that are added meanwhile do not make a held loss smaller.
    const atMost = counts.map(({ removals, total }, index) => ({
      removals,
      total: Math.min(total, row?.counts[index]?.total ?? total),
    }));
    if (isAccepted || isExpected || !isSudden(atMost)) continue;
    const removals = counts[0]?.removals ?? 0;
    const isKnown = row && !hasGrown(row.counts, atMost);
    if (isKnown && isLasting(row, now)) continue;
    const first = { removals, since: now, counts, confirmations: 0, confirmedAt: null };
    const next = isKnown ? { removals, confirmations: row.confirmations + 1, confirmedAt: now } : first;
    await tx
      .insert(heldRemovals)
      .values({ system, kind, subject, ...first })
      .onConflictDoUpdate({
        target: [heldRemovals.system, heldRemovals.kind, heldRemovals.subject],
        set: next,
      });
    held.push(subject);
  }
  return held;
}

function isLasting({ since, confirmations, confirmedAt }: HeldRemovals, now: Date): boolean {
  return (
    now.getTime() - since.getTime() >= LASTING.forMs &&
    confirmations >= LASTING.confirmations &&
    confirmedAt !== null &&
    now.getTime() - confirmedAt.getTime() <= LASTING.confirmedWithinMs
  );
}

function hasGrown(first: Loss['counts'], counts: Loss['counts']): boolean {
  return counts.some(
    (count, index) => isSudden([count]) && count.removals > (first[index]?.removals ?? 0) * MAX_GROWTH,
  );
}

/** Forgets what was held back before a full read that held only these subjects. */
export async function keepHeldRemovals(
  db: Db | Tx,
  { system, kind }: Pick<HeldRemovals, 'system' | 'kind'>,
  held: readonly string[],
): Promise<void> {
  const isOfKind = and(eq(heldRemovals.system, system), eq(heldRemovals.kind, kind));
  await db.delete(heldRemovals).where(and(isOfKind, notInArray(heldRemovals.subject, [...held])));
}

/**
 * Stores which tables of a system are missing; nothing of them is removed.
 * @param options.before what was held of the system when the round began: without missing tables then and now, nothing is
 *   written.
 */
export async function saveMissingTables(
  db: Db,
  system: FlagSystem,
  tables: readonly string[],
  { before, now }: { before: readonly HeldRemovals[]; now: Date },
): Promise<void> {
  const kind = 'tables';
  if (tables.length === 0 && before.every((removal) => removal.kind !== kind)) return;
  const rows = tables.map((subject) => ({ system, kind, subject, removals: 0, since: now }) as const);
  await inTransaction(db, async (tx) => {
    await keepHeldRemovals(tx, { system, kind }, tables);
    if (rows.length > 0) await tx.insert(heldRemovals).values(rows).onConflictDoNothing();
  });
}

/** Whether so much is removed that the source is probably broken. */
export function isSudden(counts: Loss['counts']): boolean {
  return counts.some(({ removals, total }) => removals >= MIN_SUDDEN && removals * 2 > total);
}

/** What is held back, of one system or of all. */
export async function listHeldRemovals(db: Db | Tx, system?: FlagSystem): Promise<HeldRemovals[]> {
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
