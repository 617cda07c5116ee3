import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { roundSounds } from '../../db/schema/round-sounds.ts';
import { after, claimOldest } from './round-sound-queue.ts';
import type { RoundSound } from './round-sounds.ts';

/** A published sound that a worker has claimed; `voiceAttempts` identifies the claim. */
type VoiceClaim = Pick<RoundSound, 'id' | 'voiceAttempts'>;

/**
 * Claims the oldest published sound without a voice rendition, if there is one.
 * @param leaseMs for how long; after that, others may claim the sound of a worker that died.
 */
export async function claimVoicelessSound(
  db: Db,
  { leaseMs }: { leaseMs: number },
): Promise<RoundSound | undefined> {
  return claimOldest(db, voicelessCondition, {
    // The largest smallint is 32,767.
    voiceAttempts: sql`least(${roundSounds.voiceAttempts} + 1, 32000)`,
    claimedUntil: after(leaseMs),
  });
}

/** Releases a claim, so that the sound can be claimed again after a delay; does nothing when the claim is lost. */
export async function releaseVoicelessSound(
  db: Db,
  claim: VoiceClaim,
  { delayMs }: { delayMs: number },
): Promise<void> {
  await db
    .update(roundSounds)
    .set({ claimedUntil: after(delayMs) })
    .where(claimCondition(claim));
}

/** Locks the row of a claim until the transaction ends. False when the sound was replaced or removed. */
export async function lockVoicelessSound(tx: Db, claim: VoiceClaim): Promise<boolean> {
  const rows = await tx
    .select({ id: roundSounds.id })
    .from(roundSounds)
    .where(claimCondition(claim))
    .for('update');
  return rows.length > 0;
}

/** Saves the voice rendition of a published sound, whose file is in place. */
export async function saveVoice(
  tx: Db,
  { id }: VoiceClaim,
  { sha256, sizeBytes }: { sha256: string; sizeBytes: number },
): Promise<void> {
  await tx
    .update(roundSounds)
    .set({ voiceSha256: sha256, voiceSizeBytes: sizeBytes, claimedUntil: null })
    .where(eq(roundSounds.id, id));
}

/** Records that the file of a voice rendition is missing, so that it is rendered again. */
export async function saveVoiceLoss(db: Db, sound: RoundSound): Promise<void> {
  await db
    .update(roundSounds)
    .set({ voiceSha256: null, voiceSizeBytes: null, voiceAttempts: 0 })
    .where(and(eq(roundSounds.id, sound.id), eq(roundSounds.status, 'ready')));
}

const voicelessCondition = and(eq(roundSounds.status, 'ready'), isNull(roundSounds.voiceSha256));

function claimCondition({ id, voiceAttempts }: VoiceClaim) {
  return and(eq(roundSounds.id, id), eq(roundSounds.voiceAttempts, voiceAttempts), voicelessCondition);
}
