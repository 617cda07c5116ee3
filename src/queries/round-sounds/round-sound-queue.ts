import { and, asc, eq, inArray, ne, type SQL, sql } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../../db/client.ts';
import { roundSounds } from '../../db/schema/round-sounds.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { type SoundStart, UNFINISHED_STATUSES } from '../../domain/round-sound.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { recordAudit } from '../audit-log.ts';
import { requireActor } from '../users/users.ts';
import type { RoundSound } from './round-sounds.ts';

/** The longest a row may stay claimed or postponed. */
export const MAX_CLAIM_MS = 60 * 60_000;

/** A row that a worker has claimed; `attempts` identifies the claim. */
type RoundSoundClaim = Pick<RoundSound, 'id' | 'attempts'>;

/**
 * Queues an upload whose file is stored in the inbox. Earlier unpublished uploads of the player are removed; the
 * published sound stays until this one is ready.
 * @param tx a transaction that has locked the player, see {@link lockPlayer}.
 * @throws {NotFound} when the account of the uploading user was deleted.
 * @returns the sound, and the inbox folders of the removed uploads.
 */
export async function saveUploadedSound(
  tx: Tx,
  upload: {
    steamId64: SteamId64;
    title: string;
    uploadKey: string;
    start?: SoundStart | undefined;
    actor: Actor;
  },
): Promise<{ sound: RoundSound; supersededKeys: string[] }> {
  const { actor, start, ...values } = upload;
  // An upload that finishes after its account was deleted must not be stored.
  await requireActor(tx, actor);
  const superseded = await tx
    .delete(roundSounds)
    .where(and(eq(roundSounds.steamId64, values.steamId64), ne(roundSounds.status, 'ready')))
    .returning({ uploadKey: roundSounds.uploadKey });
  const [row] = await tx
    .insert(roundSounds)
    .values({ ...values, ...start })
    .returning();
  if (!row) throw new Error('the sound was not inserted');
  const details = { title: values.title };
  await recordAudit(tx, { actor, action: 'sound.uploaded', subject: values.steamId64, details });
  return { sound: row, supersededKeys: superseded.map(({ uploadKey }) => uploadKey) };
}

/**
 * The last condition is for a row that was claimed while the clock was ahead: it would stay claimed until the clock
 * catches up.
 */
const isUnclaimed = sql`(${roundSounds.claimedUntil} is null or ${roundSounds.claimedUntil} <= clock_timestamp()
  or ${roundSounds.claimedUntil} > ${after(MAX_CLAIM_MS)})`;

/**
 * Claims the oldest queued upload, if there is one; concurrent workers get different ones, and no other worker claims it
 * until the lease ends.
 * @param leaseMs how long, at most {@link MAX_CLAIM_MS}; after that, others may claim the upload of a worker that died.
 */
export async function claimQueuedSound(
  db: Db,
  { leaseMs }: { leaseMs: number },
): Promise<RoundSound | undefined> {
  return inTransaction(db, async (tx) => {
    const [queued] = await tx
      .select({ id: roundSounds.id })
      .from(roundSounds)
      .where(and(inArray(roundSounds.status, UNFINISHED_STATUSES), isUnclaimed))
      .orderBy(asc(roundSounds.id))
      .limit(1)
      .for('update', { skipLocked: true });
    if (!queued) return undefined;
    const [claimed] = await tx
      .update(roundSounds)
      .set({ status: 'measuring', attempts: sql`${roundSounds.attempts} + 1`, claimedUntil: after(leaseMs) })
      .where(eq(roundSounds.id, queued.id))
      .returning();
    return claimed;
  });
}

/**
 * Saves the progress of a worker.
 * @param change.claimMs how long no other worker may claim the sound, at most {@link MAX_CLAIM_MS}: the renewed lease, or
 * the pause before the next attempt. Null ends the claim.
 * @returns false, without a change, when the claim is lost (replaced, removed, claimed again).
 */
export async function saveClaimedSound(
  db: Db | Tx,
  claim: RoundSoundClaim,
  { claimMs, ...values }: Partial<Omit<RoundSound, 'id' | 'claimedUntil'>> & { claimMs?: number | null },
): Promise<boolean> {
  const claimedUntil = typeof claimMs === 'number' ? after(claimMs) : claimMs;
  const { count } = await db
    .update(roundSounds)
    .set({ ...values, claimedUntil })
    .where(claimCondition(claim));
  return count > 0;
}

/**
 * Locks the row of a claim until the transaction ends: nobody else can claim the sound meanwhile, so the files of its name
 * may be written. False when the claim is lost.
 */
export async function lockClaim(tx: Tx, claim: RoundSoundClaim): Promise<boolean> {
  const rows = await tx
    .select({ id: roundSounds.id })
    .from(roundSounds)
    .where(claimCondition(claim))
    .for('update');
  return rows.length > 0;
}

/**
 * Makes a sound, whose files are in place, the player's only one: every other row of theirs is deleted.
 * @param tx a transaction that has locked the player, see {@link lockPlayer}.
 */
export async function saveSoundReady(tx: Tx, { id, steamId64 }: RoundSound): Promise<void> {
  await tx.delete(roundSounds).where(and(eq(roundSounds.steamId64, steamId64), ne(roundSounds.id, id)));
  await tx
    .update(roundSounds)
    .set({ status: 'ready', failure: null, claimedUntil: null, readyAt: sql`now()` })
    .where(eq(roundSounds.id, id));
}

function claimCondition(claim: RoundSoundClaim) {
  return and(
    eq(roundSounds.id, claim.id),
    eq(roundSounds.attempts, claim.attempts),
    inArray(roundSounds.status, UNFINISHED_STATUSES),
  );
}

/** By the clock of the database, since those of the workers may differ. */
function after(delayMs: number): SQL {
  return sql`clock_timestamp() + ${delayMs} * interval '1 millisecond'`;
}
