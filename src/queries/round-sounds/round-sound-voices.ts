import { and, eq, isNull, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { roundSounds } from '../../db/schema/round-sounds.ts';
import { after, claimOldest } from './round-sound-queue.ts';
import { lockPlayer, type RoundSound } from './round-sounds.ts';

/** A published sound that a worker holds; `voiceAttempts` says which of its holders it is. */
type VoiceClaim = Pick<RoundSound, 'id' | 'voiceAttempts'>;

/**
 * Takes the oldest published sound without a voice rendition, if there is one; no other worker takes it for now.
 * @param leaseMs how long; a worker that dies leaves it to the others after that.
 */
export async function claimVoicelessSound(
  db: Db,
  { leaseMs }: { leaseMs: number },
): Promise<RoundSound | undefined> {
  return claimOldest(db, isVoiceless, {
    // smallint ends at 32,767.
    voiceAttempts: sql`least(${roundSounds.voiceAttempts} + 1, 32000)`,
    claimedUntil: after(leaseMs),
  });
}

/** Gives it back, to be taken again after a while; nothing happens when it is no longer this worker's. */
export async function releaseVoicelessSound(
  db: Db,
  claim: VoiceClaim,
  { delayMs }: { delayMs: number },
): Promise<void> {
  await db
    .update(roundSounds)
    .set({ claimedUntil: after(delayMs) })
    .where(isOwn(claim));
}

/**
 * Publishes the voice rendition of a published sound.
 * @param moveIntoPlace moves the file; runs while nobody else can touch this player's sound.
 * @returns false when the sound was replaced or removed meanwhile: then nothing was moved.
 */
export async function publishVoice(
  db: Db,
  sound: RoundSound,
  {
    file,
    moveIntoPlace,
  }: { file: { sha256: string; sizeBytes: number }; moveIntoPlace: () => Promise<void> },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockPlayer(tx, sound.steamId64);
    const [own] = await tx.select({ id: roundSounds.id }).from(roundSounds).where(isOwn(sound)).for('update');
    if (!own) return false;
    await moveIntoPlace();
    await tx
      .update(roundSounds)
      .set({ voiceSha256: file.sha256, voiceSizeBytes: file.sizeBytes, claimedUntil: null })
      .where(eq(roundSounds.id, sound.id));
    return true;
  });
}

/** Says that the file of a voice rendition is gone, so that it is made again. */
export async function saveVoiceLoss(db: Db, sound: RoundSound): Promise<void> {
  await db
    .update(roundSounds)
    .set({ voiceSha256: null, voiceSizeBytes: null, voiceAttempts: 0 })
    .where(and(eq(roundSounds.id, sound.id), eq(roundSounds.status, 'ready')));
}

const isVoiceless = and(eq(roundSounds.status, 'ready'), isNull(roundSounds.voiceSha256));

function isOwn({ id, voiceAttempts }: VoiceClaim) {
  return and(eq(roundSounds.id, id), eq(roundSounds.voiceAttempts, voiceAttempts), isVoiceless);
}
