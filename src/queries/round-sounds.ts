import { and, asc, count, desc, eq, inArray, lt, ne, sql } from 'drizzle-orm';
import { type Db, prepareOnce } from '../db/client.ts';
import { roundSounds } from '../db/schema.ts';
import { NotFound } from '../errors.ts';
import { type RoundSoundFailure, type RoundSoundStatus, UNFINISHED_STATUSES } from '../round-sound.ts';
import type { SteamId64 } from '../steam-id.ts';
import { recordAudit } from './audit-log.ts';

export type RoundSound = typeof roundSounds.$inferSelect;
/** What the lookup needs; `sha256` is the version of the file. */
export type ReadyRoundSound = Pick<RoundSound, 'steamId64' | 'title' | 'sha256'>;
/** What rendering found out about a sound. */
export type RoundSoundRendering = {
  sha256: string;
  loudnessBeforeLufs: number;
  loudnessAfterLufs: number;
  durationMs: number;
  waveform: number[];
};

/** A row that a worker holds; `attempts` says which of its holders it is. */
export type RoundSoundClaim = Pick<RoundSound, 'id' | 'attempts'>;

/** Class of the advisory locks that order what happens to the published file of one player. */
const PLAYER_LOCK = 727_005;

/** Every published sound: title and version of the file, by player. */
export async function listReadySounds(db: Db): Promise<ReadyRoundSound[]> {
  return readySounds(db).execute();
}

const readySounds = prepareOnce((db) =>
  db
    .select({ steamId64: roundSounds.steamId64, title: roundSounds.title, sha256: roundSounds.sha256 })
    .from(roundSounds)
    .where(eq(roundSounds.status, 'ready'))
    .prepare('ready_sounds'),
);

/** One player's published sound. Specification 4.4. */
export async function findReadyRoundSound(db: Db, steamId64: SteamId64): Promise<RoundSound | undefined> {
  const [row] = await db
    .select()
    .from(roundSounds)
    .where(and(eq(roundSounds.steamId64, steamId64), eq(roundSounds.status, 'ready')));
  return row;
}

/** A player's published sound, and the upload that is under way or failed; each may be absent. */
export async function findRoundSounds(
  db: Db,
  steamId64: SteamId64,
): Promise<{ ready: RoundSound | undefined; latest: RoundSound | undefined }> {
  const rows = await db
    .select()
    .from(roundSounds)
    .where(eq(roundSounds.steamId64, steamId64))
    .orderBy(desc(roundSounds.id));
  return {
    ready: rows.find(({ status }) => status === 'ready'),
    latest: rows.find(({ status }) => status !== 'ready'),
  };
}

/**
 * Sounds in whatever state, newest first; all of them unless limited.
 * @param before only older ones than this id, for the next page.
 */
export async function listRoundSounds(
  db: Db,
  { before, limit }: { before?: number | undefined; limit?: number } = {},
): Promise<RoundSound[]> {
  const query = db
    .select()
    .from(roundSounds)
    .where(before === undefined ? undefined : lt(roundSounds.id, before))
    .orderBy(desc(roundSounds.id));
  return limit === undefined ? query : query.limit(limit);
}

/** A sound in whatever state, by its row id. */
export async function findRoundSoundById(db: Db, id: number): Promise<RoundSound | undefined> {
  const [row] = await db.select().from(roundSounds).where(eq(roundSounds.id, id));
  return row;
}

/**
 * Puts an upload, whose bytes are safe in the inbox, in the queue. What the player uploaded before and is not
 * published gives way; the published sound stays until this one is ready.
 * @param actorUserId who did it, for the audit log; null for the operator's tool.
 * @param isInPlace whether the published file is this unfinished sound's: its worker died between moving the file and
 *   saying so. Then it is the published sound.
 * @returns with the inbox folders of the uploads that gave way.
 */
export async function saveUploadedSound(
  db: Db,
  upload: { steamId64: SteamId64; title: string; uploadKey: string; actorUserId: number | null },
  isInPlace: (sound: RoundSound) => Promise<boolean>,
): Promise<{ sound: RoundSound; supersededKeys: string[] }> {
  const { actorUserId, ...values } = upload;
  return db.transaction(async (tx) => {
    await lockPlayer(tx, values.steamId64);
    const { latest } = await findRoundSounds(tx, values.steamId64);
    if (latest && latest.status !== 'failed' && (await isInPlace(latest))) await markReady(tx, latest);
    const superseded = await tx
      .delete(roundSounds)
      .where(and(eq(roundSounds.steamId64, values.steamId64), ne(roundSounds.status, 'ready')))
      .returning({ uploadKey: roundSounds.uploadKey });
    const [row] = await tx.insert(roundSounds).values(values).returning();
    if (!row) throw new Error('the sound was not inserted');
    const details = { title: values.title };
    await recordAudit(tx, { actorUserId, action: 'sound.uploaded', subject: values.steamId64, details });
    return { sound: row, supersededKeys: superseded.map(({ uploadKey }) => uploadKey) };
  });
}

/**
 * Takes the oldest upload that waits, if there is one, to be measured: no other worker takes it until the lease ends.
 * @param leaseMs how long; a worker that dies leaves it to the others after that.
 */
export async function takeQueuedSound(
  db: Db,
  { leaseMs }: { leaseMs: number },
): Promise<RoundSound | undefined> {
  return db.transaction(async (tx) => {
    const [waiting] = await tx
      .select({ id: roundSounds.id })
      .from(roundSounds)
      .where(
        and(
          inArray(roundSounds.status, UNFINISHED_STATUSES),
          sql`coalesce(${roundSounds.claimedUntil} <= clock_timestamp(), true)`,
        ),
      )
      .orderBy(asc(roundSounds.id))
      .limit(1)
      .for('update', { skipLocked: true });
    if (!waiting) return undefined;
    const [taken] = await tx
      .update(roundSounds)
      .set({ status: 'measuring', attempts: sql`${roundSounds.attempts} + 1`, claimedUntil: after(leaseMs) })
      .where(eq(roundSounds.id, waiting.id))
      .returning();
    return taken;
  });
}

/** Writes that a sound is rendered now, or nothing new, and renews the lease. False when the row is no longer this worker's (replaced, removed). */
export async function saveSoundProgress(
  db: Db,
  claim: RoundSoundClaim,
  change: { status?: 'rendering'; leaseMs: number },
): Promise<boolean> {
  const { status, leaseMs } = change;
  return updateClaimed(db, claim, { ...(status && { status }), claimedUntil: after(leaseMs) });
}

/** Writes what was rendered, before the file moves into place. False as for {@link saveSoundProgress}. */
export async function saveSoundRendering(
  db: Db,
  claim: RoundSoundClaim,
  rendering: RoundSoundRendering,
): Promise<boolean> {
  return updateClaimed(db, claim, rendering);
}

/** Ends an upload with the reason; a published sound of the player stays. False as for {@link saveSoundProgress}. */
export async function saveSoundFailure(
  db: Db,
  claim: RoundSoundClaim,
  failure: RoundSoundFailure,
): Promise<boolean> {
  return updateClaimed(db, claim, { status: 'failed', failure, claimedUntil: null });
}

/**
 * Gives a sound back to the queue, for now or for later.
 * @param countsAsAttempt false when nothing went wrong (the service stops).
 */
export async function releaseSound(
  db: Db,
  claim: RoundSoundClaim,
  { delayMs = 0, countsAsAttempt = true }: { delayMs?: number; countsAsAttempt?: boolean } = {},
): Promise<void> {
  await updateClaimed(db, claim, {
    status: 'queued',
    claimedUntil: delayMs > 0 ? after(delayMs) : null,
    ...(!countsAsAttempt && { attempts: claim.attempts - 1 }),
  });
}

/**
 * Makes a rendered sound the published one, in place of the player's earlier one.
 * @param moveIntoPlace swaps the file; runs while nobody else can touch this player's sound.
 * @returns false when the row is no longer this worker's: then nothing was moved.
 */
export async function publishSound(
  db: Db,
  sound: RoundSound,
  moveIntoPlace: () => Promise<void>,
): Promise<boolean> {
  return db.transaction(async (tx) => {
    await lockPlayer(tx, sound.steamId64);
    const [own] = await tx.select({ id: roundSounds.id }).from(roundSounds).where(isOwn(sound)).for('update');
    if (!own) return false;
    await moveIntoPlace();
    await markReady(tx, sound);
    return true;
  });
}

/**
 * Removes all sounds of a player, published, under way and failed.
 * @param removeFile takes the published file away; runs while nobody else can touch it.
 * @param actorUserId who did it, for the audit log; null for the operator's tool.
 * @throws {NotFound} when the player has none.
 */
export async function removeRoundSounds(
  db: Db,
  steamId64: SteamId64,
  options: { removeFile: () => Promise<void>; actorUserId: number | null },
): Promise<RoundSound[]> {
  return db.transaction(async (tx) => {
    await lockPlayer(tx, steamId64);
    const removed = await tx.delete(roundSounds).where(eq(roundSounds.steamId64, steamId64)).returning();
    if (removed.length === 0) throw new NotFound(`${steamId64} has no round-end sound`);
    const details = { title: removed[0]?.title ?? '' };
    const { actorUserId } = options;
    await recordAudit(tx, { actorUserId, action: 'sound.removed', subject: steamId64, details });
    await options.removeFile();
    return removed;
  });
}

/** Runs `handleOrphan` if the player has no published sound, while nobody can publish one. */
export async function withoutReadySound(
  db: Db,
  steamId64: SteamId64,
  handleOrphan: () => Promise<void>,
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockPlayer(tx, steamId64);
    if (!(await findReadyRoundSound(tx, steamId64))) await handleOrphan();
  });
}

/** Marks a published sound whose file is gone; the player is told. */
export async function saveSoundLoss(db: Db, id: number): Promise<void> {
  await db
    .update(roundSounds)
    .set({ status: 'failed', failure: 'lost' })
    .where(and(eq(roundSounds.id, id), eq(roundSounds.status, 'ready')));
}

/** How many uploads wait or are worked on, by status; one without any is left out. */
export async function countUnfinishedSounds(db: Db): Promise<{ status: RoundSoundStatus; count: number }[]> {
  return db
    .select({ status: roundSounds.status, count: count() })
    .from(roundSounds)
    .where(inArray(roundSounds.status, UNFINISHED_STATUSES))
    .groupBy(roundSounds.status);
}

/** How many sounds there are, in whatever state. */
export async function countRoundSounds(db: Db): Promise<number> {
  const [row] = await db.select({ count: count() }).from(roundSounds);
  return row?.count ?? 0;
}

async function updateClaimed(
  db: Db,
  claim: RoundSoundClaim,
  values: Parameters<ReturnType<Db['update']>['set']>[0],
): Promise<boolean> {
  const rows = await db.update(roundSounds).set(values).where(isOwn(claim)).returning({ id: roundSounds.id });
  return rows.length > 0;
}

/** Makes it the player's only sound: the earlier one goes, and what is left of one whose file was lost. */
async function markReady(tx: Db, { id, steamId64 }: RoundSound): Promise<void> {
  await tx.delete(roundSounds).where(and(eq(roundSounds.steamId64, steamId64), ne(roundSounds.id, id)));
  await tx
    .update(roundSounds)
    .set({ status: 'ready', failure: null, claimedUntil: null, readyAt: sql`now()` })
    .where(eq(roundSounds.id, id));
}

function isOwn(claim: RoundSoundClaim) {
  return and(
    eq(roundSounds.id, claim.id),
    eq(roundSounds.attempts, claim.attempts),
    inArray(roundSounds.status, UNFINISHED_STATUSES),
  );
}

async function lockPlayer(tx: Db, steamId64: SteamId64): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${PLAYER_LOCK}, hashtext(${steamId64}))`);
}

/** By the clock of the database: the workers' own may differ. */
function after(delayMs: number) {
  return sql`clock_timestamp() + ${delayMs} * interval '1 millisecond'`;
}
