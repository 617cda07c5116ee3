import { and, eq, isNotNull, lt, or, sql } from 'drizzle-orm';
import { type Db, inTransaction, type Reads, type Tx } from '../../db/client.ts';
import { pendingLifts } from '../../db/schema/lifts.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { NotFound } from '../../domain/errors.ts';
import { type LiftAudience, LiftRefused, mayLift, type WrittenLift } from '../../domain/lift.ts';
import type { PenaltyOrigin } from '../../domain/panel.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import { recordAudit } from '../audit-log.ts';
import { holdOffErasures, loadAnonymiser } from '../personal-data/tombstones.ts';
import { lockActingUser } from '../users/users.ts';
import type { SourceKey } from './imported.ts';
import { findPenalty, type Penalty } from './row.ts';

export type PendingLift = typeof pendingLifts.$inferSelect;

/** A lift that may be written at the source now. */
type BegunLift = {
  penalty: Penalty & PenaltyOrigin;
  lifter: SteamId64;
  /** Replaces the SteamIDs of erased people, as imports do. */
  anonymise: (steamId64: SteamId64) => SteamId64;
};

/**
 * Begins a lift, so that nobody else begins another one of the penalty, and a crash is noticed.
 * @param options.isLiftable whether its source can be written to.
 * @throws {NotFound} · {Forbidden} for one's own penalty, and for whoever may not lift · {LiftRefused}
 */
export async function beginLift(
  db: Db,
  { penaltyId, userId, reason }: { penaltyId: number; userId: number; reason: string },
  {
    audience,
    isLiftable,
    now,
  }: { audience: LiftAudience; isLiftable: (penalty: PenaltyOrigin) => boolean; now: Date },
): Promise<BegunLift> {
  return inTransaction(db, async (tx) => {
    await holdOffErasures(tx);
    const details = await findPenalty(tx, penaltyId, now);
    if (!details) throw new NotFound('no such penalty');
    const { penalty } = details;
    const user = await lockActingUser(tx, userId, { mayAct: (each) => mayLift(audience, each, penalty) });
    if (penalty.status !== 'ACTIVE') throw new LiftRefused('not-in-force');
    if (!isLiftable(penalty)) throw new LiftRefused('not-liftable');
    const begun = await tx
      .insert(pendingLifts)
      .values({ penaltyId, userId, reason, begunAt: now })
      .onConflictDoNothing()
      .returning();
    if (begun.length === 0) throw new LiftRefused('pending');
    const anonymise = await loadAnonymiser(tx);
    return {
      penalty,
      lifter: user.steamId64,
      anonymise: (playerSteamId) => anonymise({ ...penalty, playerSteamId }).playerSteamId,
    };
  });
}

/** Deletes a lift that wrote nothing. */
export async function abandonLift(db: Db, penaltyId: number): Promise<void> {
  await db.delete(pendingLifts).where(eq(pendingLifts.penaltyId, penaltyId));
  await wakeMirror(db);
}

/** Records what a lift wrote, and wakes the mirror to read it. Audited, if it is known that it was written. */
export async function finishLift(db: Db, penaltyId: number, outcome: WrittenLift): Promise<void> {
  await inTransaction(db, async (tx) => {
    await holdOffErasures(tx);
    const [lift] = await tx
      .update(pendingLifts)
      .set({ outcome })
      .where(eq(pendingLifts.penaltyId, penaltyId))
      .returning();
    if (lift && outcome === 'written') await recordLift(tx, lift);
    await wakeMirror(tx);
  });
}

/** By the name of the table, as a trigger would. */
async function wakeMirror(db: Db | Tx): Promise<void> {
  await db.execute(sql`select pg_notify('changed', 'pending_lifts')`);
}

async function recordLift(tx: Tx, { penaltyId, userId, reason }: PendingLift): Promise<void> {
  const [penalty] = await tx
    .select({ source: penalties.source, playerSteamId: penalties.playerSteamId })
    .from(penalties)
    .where(eq(penalties.id, penaltyId));
  await recordAudit(tx, {
    actor: userId === null ? 'member' : { userId },
    action: 'penalty.lifted_at_source',
    subject:
      penalty === undefined || penalty.playerSteamId === UNKNOWN_STEAM_ID
        ? `#${penaltyId}`
        : penalty.playerSteamId,
    details: { penaltyId, source: penalty?.source, reason },
  });
}

/** The lift of a penalty that the mirror has not read yet. */
export async function findPendingLift(db: Db, penaltyId: number): Promise<PendingLift | undefined> {
  const [lift] = await db.select().from(pendingLifts).where(eq(pendingLifts.penaltyId, penaltyId));
  return lift;
}

/** Longer than a lift takes. One that has no outcome then was being written by a process that died. */
const MAX_LIFT_SECONDS = 60;

/** The lifts at a source that the next round of its mirror reads. */
export async function listLiftsToRead(
  db: Db,
  source: string,
  now: Date,
): Promise<(PendingLift & SourceKey)[]> {
  const diedBefore = new Date(now.getTime() - MAX_LIFT_SECONDS * 1000);
  const rows = await db
    .select({ lift: pendingLifts, sourceTable: penalties.sourceTable, sourceId: penalties.sourceId })
    .from(pendingLifts)
    .innerJoin(penalties, eq(penalties.id, pendingLifts.penaltyId))
    .where(
      and(
        eq(penalties.source, source),
        or(isNotNull(pendingLifts.outcome), lt(pendingLifts.begunAt, diedBefore)),
      ),
    );
  return rows.map(({ lift, sourceTable, sourceId }) => ({
    ...lift,
    sourceTable: sourceTable ?? '',
    sourceId: sourceId ?? '',
  }));
}

/** Forgets lifts that the mirror has read. One that was not known to be written is audited if its penalty is over. */
export async function settleLifts(db: Db, lifts: readonly PendingLift[], now: Date): Promise<void> {
  for (const { penaltyId, outcome } of lifts) {
    await inTransaction(db, async (tx) => {
      await holdOffErasures(tx);
      const [lift] = await tx.delete(pendingLifts).where(eq(pendingLifts.penaltyId, penaltyId)).returning();
      if (lift && outcome !== 'written' && (await isPenaltyOver(tx, penaltyId, now)))
        await recordLift(tx, lift);
    });
  }
}

/** Whether a penalty is no longer in force. */
export async function isPenaltyOver(db: Reads, penaltyId: number, now: Date): Promise<boolean> {
  const details = await findPenalty(db, penaltyId, now);
  return details?.penalty.status !== 'ACTIVE';
}
