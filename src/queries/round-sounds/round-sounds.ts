import { and, count, desc, eq, getTableColumns, inArray, sql } from 'drizzle-orm';
import { type Db, prepareOnce, type Reads, type Tx } from '../../db/client.ts';
import { LOCKS } from '../../db/locks.ts';
import { users } from '../../db/schema/accounts.ts';
import { roundSounds } from '../../db/schema/round-sounds.ts';
import { arrayLiteral } from '../../db/select.ts';
import { NotFound } from '../../domain/errors.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { mayHaveSound, type SoundAudience } from '../../domain/rights/sound-audience.ts';
import { type RoundSoundStatus, soundVersion, UNFINISHED_STATUSES } from '../../domain/round-sound.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { recordAudit } from '../audit-log.ts';

export type RoundSound = typeof roundSounds.$inferSelect;
/** `isServed`: whether the player may have one, so that others hear it. */
export type ReadyRoundSound = Pick<RoundSound, 'id' | 'steamId64' | 'title' | 'sha256' | 'voiceSha256'> & {
  isServed: boolean;
};

/**
 * Every published sound.
 * @param audience of those that are served: everyone by default.
 */
export async function listReadySounds(
  db: Db,
  audience: SoundAudience = 'everyone',
): Promise<ReadyRoundSound[]> {
  const { id, steamId64, title, sha256, voiceSha256 } = roundSounds;
  const rows = await db
    .select({ id, steamId64, title, sha256, voiceSha256, rights })
    .from(roundSounds)
    .leftJoin(users, eq(users.steamId64, roundSounds.steamId64))
    .where(eq(roundSounds.status, 'ready'));
  return rows.map(({ rights, ...sound }) => ({
    ...sound,
    isServed: mayHaveSound(audience, rights ?? undefined),
  }));
}

/** The flags of the player; null without an account. */
const rights = {
  hasSvip: users.hasSvip,
  isServiceplus: users.isServiceplus,
  isAdmin: users.isAdmin,
  isOwner: users.isOwner,
};

/** A published sound for game servers; hashes and sizes are those of the published files. */
export type PublishedRoundSound = {
  steamId64: SteamId64;
  title: string;
  durationMs: number;
  loudnessLufs: number;
  updatedAt: Date;
  stereo: PublishedFile;
  /** Absent until the voice rendition exists. */
  voice?: PublishedFile;
};

/** `version` is part of the file's URL: it changes with the content. */
export type PublishedFile = { sha256: string; sizeBytes: number; version: string };

/**
 * The published sounds of these players, in no order; players without one, or outside of the audience, are left out.
 * @param options.audience everyone by default.
 */
export async function listPublishedRoundSounds(
  db: Reads,
  steamIds: readonly SteamId64[],
  { audience = 'everyone' }: { audience?: SoundAudience } = {},
): Promise<PublishedRoundSound[]> {
  const rows = await publishedSounds(db).execute({ steamIds: arrayLiteral(steamIds) });
  return rows.flatMap((row) => {
    if (!mayHaveSound(audience, row.rights ?? undefined)) return [];
    const stereo = toPublishedFile(row.sha256, row.sizeBytes);
    const voice = toPublishedFile(row.voiceSha256, row.voiceSizeBytes);
    const { steamId64, title, durationMs, loudnessAfterLufs, readyAt: updatedAt } = row;
    if (!stereo || durationMs === null || loudnessAfterLufs === null || updatedAt === null) return [];
    const loudnessLufs = Math.round(loudnessAfterLufs * 10) / 10;
    return { steamId64, title, durationMs, loudnessLufs, updatedAt, stereo, ...(voice && { voice }) };
  });
}

function toPublishedFile(sha256: string | null, sizeBytes: number | null): PublishedFile | undefined {
  if (sha256 === null || sizeBytes === null) return undefined;
  return { sha256, sizeBytes, version: soundVersion(sha256) };
}

const { waveform: _, ...publishedColumns } = getTableColumns(roundSounds);
const publishedSounds = prepareOnce('published_sounds', (db) =>
  db
    .select({ ...publishedColumns, rights })
    .from(roundSounds)
    .leftJoin(users, eq(users.steamId64, roundSounds.steamId64))
    .where(
      and(
        eq(roundSounds.status, 'ready'),
        sql`${roundSounds.steamId64} = any(${sql.placeholder('steamIds')})`,
      ),
    ),
);

/** A player's published sound (specification 4.4), and their unfinished or failed upload; each may be absent. */
export async function findRoundSounds(
  db: Db | Tx,
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

/** Sounds in any state, newest first; all of them unless limited. */
export async function listRoundSounds(
  db: Db,
  { limit, offset = 0 }: { limit?: number; offset?: number } = {},
): Promise<RoundSound[]> {
  const query = db.select().from(roundSounds).orderBy(desc(roundSounds.id)).offset(offset);
  return limit === undefined ? query : query.limit(limit);
}

/** A sound in any state, by its row id. */
export async function findRoundSoundById(db: Db, id: number): Promise<RoundSound | undefined> {
  const [row] = await db.select().from(roundSounds).where(eq(roundSounds.id, id));
  return row;
}

/**
 * Removes all sounds of a player: published, unfinished and failed.
 * @param tx a transaction that has locked the player, see {@link lockPlayer}.
 * @throws {NotFound} when the player has none.
 */
export async function removeRoundSounds(
  tx: Tx,
  steamId64: SteamId64,
  { actor }: { actor: Actor },
): Promise<RoundSound[]> {
  const sounds = await tx.delete(roundSounds).where(eq(roundSounds.steamId64, steamId64)).returning();
  if (sounds.length === 0) throw new NotFound(`${steamId64} has no round-end sound`);
  const details = { title: sounds[0]?.title ?? '' };
  await recordAudit(tx, { actor, action: 'sound.removed', subject: steamId64, details });
  return sounds;
}

/** Removes a player's failed upload, if there is one. A published sound stays. */
export async function removeFailedSound(db: Db, steamId64: SteamId64): Promise<void> {
  await db
    .delete(roundSounds)
    .where(and(eq(roundSounds.steamId64, steamId64), eq(roundSounds.status, 'failed')));
}

/** Marks a published sound whose file is missing or was altered as failed, which the player sees. */
export async function saveSoundLoss(db: Db | Tx, id: number): Promise<void> {
  await db
    .update(roundSounds)
    .set({ status: 'failed', failure: 'lost' })
    .where(and(eq(roundSounds.id, id), eq(roundSounds.status, 'ready')));
}

/** The number of unfinished uploads by status; statuses without any are left out. */
export async function countUnfinishedSounds(db: Db): Promise<{ status: RoundSoundStatus; count: number }[]> {
  return db
    .select({ status: roundSounds.status, count: count() })
    .from(roundSounds)
    .where(inArray(roundSounds.status, UNFINISHED_STATUSES))
    .groupBy(roundSounds.status);
}

/** The number of sounds in any state. */
export async function countRoundSounds(db: Db): Promise<number> {
  return db.$count(roundSounds);
}

/** Until the transaction ends, nobody else publishes, moves or removes files of this player. */
export async function lockPlayer(tx: Tx, steamId64: SteamId64): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.playerSound}, hashtext(${steamId64}))`);
}
