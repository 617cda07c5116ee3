import { createHmac, randomBytes } from 'node:crypto';
import type { Db, Transaction } from '../../db/client.ts';
import { LOCKS } from '../../db/locks.ts';
import { erasedPeople } from '../../db/schema/erased-people.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { findOrSaveSetting } from '../settings.ts';

const SECRET = 'erasure_secret';

/** What is kept of a name once its bearer is erased: of admins, whose names explain what others did. */
export const FORMER_ADMIN = 'Former admin';
export const NOBODY = '0' as SteamId64;

/** What a penalty says about people. */
type NamedPeople = {
  playerName: string;
  playerSteamId: SteamId64;
  adminName: string;
  adminSteamId: SteamId64;
  liftedByName: string | null;
  liftedBySteamId: SteamId64 | null;
};

/** Remembers that the penalties of a player are anonymous. @param tx a transaction. */
export async function saveTombstone(tx: Db, steamId64: SteamId64): Promise<void> {
  const secret = await findOrSaveSetting(tx, SECRET, randomBytes(32).toString('hex'));
  await tx
    .insert(erasedPeople)
    .values({ idHash: hashOf(secret, steamId64) })
    .onConflictDoNothing();
}

/**
 * What makes penalties anonymous that name erased people, for the rest of the transaction: nobody is erased meanwhile.
 * Without anybody erased it returns penalties as they are.
 */
export async function loadAnonymiser(tx: Transaction): Promise<<P extends NamedPeople>(penalty: P) => P> {
  await tx`select pg_advisory_xact_lock_shared(${LOCKS.erasure})`;
  const erased = await tx<{ idHash: string }[]>`select id_hash as "idHash" from erased_people`;
  if (erased.length === 0) return (penalty) => penalty;
  const [secret] = await tx<{ value: string }[]>`select value from settings where key = ${SECRET}`;
  if (!secret) return (penalty) => penalty;
  const hashes = new Set(erased.map(({ idHash }) => idHash));
  const known = new Map<SteamId64, boolean>();
  const isErased = (id: SteamId64): boolean => {
    const found = known.get(id) ?? hashes.has(hashOf(secret.value, id));
    known.set(id, found);
    return found;
  };
  return (penalty) => ({
    ...penalty,
    ...(isErased(penalty.playerSteamId) && { playerSteamId: NOBODY, playerName: '' }),
    ...(isErased(penalty.adminSteamId) && { adminSteamId: NOBODY, adminName: FORMER_ADMIN }),
    ...(penalty.liftedBySteamId !== null &&
      isErased(penalty.liftedBySteamId) && { liftedBySteamId: NOBODY, liftedByName: FORMER_ADMIN }),
  });
}

function hashOf(secret: string, steamId64: SteamId64): string {
  return createHmac('sha256', secret).update(steamId64).digest('hex');
}
