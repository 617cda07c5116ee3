import { createHash, createHmac, randomBytes } from 'node:crypto';
import { and, eq, ne, sql } from 'drizzle-orm';
import type { Db, Tx } from '../../db/client.ts';
import { LOCKS } from '../../db/locks.ts';
import { erasedPeople } from '../../db/schema/accounts.ts';
import { FORMER_ADMIN } from '../../domain/penalty.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import { findOrSaveSetting, findSetting } from '../settings.ts';

/** The setting with the secret behind tombstones. */
export const ERASURE_SECRET = 'erasure_secret';

/** What a penalty says about people. */
type NamedPeople = {
  playerName: string;
  playerSteamId: SteamId64;
  adminName: string;
  adminSteamId: SteamId64 | null;
  liftedByName: string | null;
  liftedBySteamId: SteamId64 | null;
};

/**
 * Records that somebody was erased. The lock that it holds until the transaction ends blocks all who write about people
 * without locking their row in `users`.
 * @param tx a transaction that has taken no lock yet.
 * @param options.staysAnonymous whether later imports keep their penalties anonymous; false leaves what an earlier
 * erasure set.
 */
export async function saveTombstone(
  tx: Tx,
  steamId64: SteamId64,
  { staysAnonymous }: { staysAnonymous: boolean },
): Promise<void> {
  await lockErasures(tx);
  const secret = await findOrSaveSetting(tx, ERASURE_SECRET, randomBytes(32).toString('hex'));
  const erasedAt = sql`clock_timestamp()`;
  await tx
    .insert(erasedPeople)
    .values({ idHash: hashOf(secret, steamId64), secretId: idOf(secret), staysAnonymous, erasedAt })
    .onConflictDoUpdate({
      target: erasedPeople.idHash,
      set: { erasedAt, staysAnonymous: sql`${erasedPeople.staysAnonymous} or excluded.stays_anonymous` },
    });
}

/** Blocks all who write about people, until the transaction ends. @param tx a transaction that has taken no lock yet. */
export async function lockErasures(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.erasure})`);
}

/** Blocks erasures until the transaction ends. @param tx a transaction that has taken no lock yet. */
export async function holdOffErasures(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock_shared(${LOCKS.erasure})`);
}

/** The keyed hash by which an erased player is remembered; undefined while nobody was ever erased. */
export async function findHash(db: Db | Tx, steamId64: SteamId64): Promise<string | undefined> {
  const secret = await findSetting(db, ERASURE_SECRET);
  return secret === undefined ? undefined : hashOf(secret, steamId64);
}

/** The last erasure of somebody, while its tombstone exists. */
export async function findErasure(
  db: Db,
  steamId64: SteamId64,
): Promise<Omit<typeof erasedPeople.$inferSelect, 'idHash' | 'secretId'> | undefined> {
  const idHash = await findHash(db, steamId64);
  if (idHash === undefined) return undefined;
  const [erasure] = await db
    .select({ erasedAt: erasedPeople.erasedAt, staysAnonymous: erasedPeople.staysAnonymous })
    .from(erasedPeople)
    .where(eq(erasedPeople.idHash, idHash));
  return erasure;
}

/** How long writes may run that began before an erasure, apart from penalties. */
const UNDER_WAY = '1 hour';

/** Which of these players were erased, within the last minutes if given: else with their penalties, or within an hour. */
export async function listErased(
  db: Db | Tx,
  steamIds: readonly SteamId64[],
  { withinMinutes }: { withinMinutes?: number } = {},
): Promise<ReadonlySet<SteamId64>> {
  const erased = await db
    .select({ idHash: erasedPeople.idHash })
    .from(erasedPeople)
    .where(
      withinMinutes === undefined
        ? sql`(${erasedPeople.staysAnonymous} or ${erasedPeople.erasedAt} > clock_timestamp() - ${UNDER_WAY}::interval)`
        : sql`${erasedPeople.erasedAt} > clock_timestamp() - make_interval(mins => ${withinMinutes})`,
    );
  const secret = erased.length === 0 ? undefined : await findSetting(db, ERASURE_SECRET);
  if (secret === undefined) return new Set();
  const hashes = new Set(erased.map(({ idHash }) => idHash));
  return new Set(steamIds.filter((id) => hashes.has(hashOf(secret, id))));
}

/** How many tombstones were made with a lost secret: they no longer match, so imports would restore those names. */
export async function countLostTombstones(db: Db): Promise<number> {
  const secret = await findSetting(db, ERASURE_SECRET);
  const [row] = await db
    .select({ count: sql<number>`count(*)::int` })
    .from(erasedPeople)
    .where(
      and(
        erasedPeople.staysAnonymous,
        secret === undefined ? undefined : ne(erasedPeople.secretId, idOf(secret)),
      ),
    );
  return row?.count ?? 0;
}

/** Loads a function that anonymises erased people in penalties. @param tx a transaction that blocks erasures. */
export async function loadAnonymiser(tx: Tx): Promise<<P extends NamedPeople>(penalty: P) => P> {
  const erased = await tx
    .select({ idHash: erasedPeople.idHash })
    .from(erasedPeople)
    .where(eq(erasedPeople.staysAnonymous, true));
  const secret = erased.length === 0 ? undefined : await findSetting(tx, ERASURE_SECRET);
  if (secret === undefined) return (penalty) => penalty;
  const hashes = new Set(erased.map(({ idHash }) => idHash));
  const cache = new Map<SteamId64, boolean>();
  const isErased = (id: SteamId64 | null): boolean => {
    if (id === null) return false;
    return cache.getOrInsertComputed(id, () => hashes.has(hashOf(secret, id)));
  };
  return (penalty) => ({
    ...penalty,
    ...(isErased(penalty.playerSteamId) && { playerSteamId: UNKNOWN_STEAM_ID, playerName: '' }),
    ...(isErased(penalty.adminSteamId) && { adminSteamId: UNKNOWN_STEAM_ID, adminName: FORMER_ADMIN }),
    ...(isErased(penalty.liftedBySteamId) && {
      liftedBySteamId: UNKNOWN_STEAM_ID,
      liftedByName: FORMER_ADMIN,
    }),
  });
}

/** The HMAC-SHA256 of a SteamID64, hexadecimal. */
export function hashOf(secret: string, steamId64: SteamId64): string {
  return createHmac('sha256', secret).update(steamId64).digest('hex');
}

/** Identifies a secret. */
function idOf(secret: string): string {
  return createHash('sha256').update(`erasure secret ${secret}`).digest('hex');
}
