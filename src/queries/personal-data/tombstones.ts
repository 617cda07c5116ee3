import { createHash, createHmac, randomBytes } from 'node:crypto';
import { and, eq, ne, sql } from 'drizzle-orm';
import type { Db, Transaction } from '../../db/client.ts';
import { LOCKS } from '../../db/locks.ts';
import { erasedPeople } from '../../db/schema/erased-people.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { findOrSaveSetting, findSetting } from '../settings.ts';

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

/**
 * Remembers that somebody was erased. Nobody writes about people meanwhile who does not hold their row in `users`.
 * @param tx a transaction that has taken no lock yet.
 * @param options.staysAnonymous imports keep their penalties anonymous from now on; else what an earlier erasure said.
 */
export async function saveTombstone(
  tx: Db,
  steamId64: SteamId64,
  { staysAnonymous }: { staysAnonymous: boolean },
): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.erasure})`);
  const secret = await findOrSaveSetting(tx, SECRET, randomBytes(32).toString('hex'));
  const erasedAt = sql`clock_timestamp()`;
  await tx
    .insert(erasedPeople)
    .values({ idHash: hashOf(secret, steamId64), secretId: idOf(secret), staysAnonymous, erasedAt })
    .onConflictDoUpdate({
      target: erasedPeople.idHash,
      set: { erasedAt, staysAnonymous: sql`${erasedPeople.staysAnonymous} or excluded.stays_anonymous` },
    });
}

/** Nobody is erased until the transaction ends. @param tx has taken no other lock yet. */
export async function holdOffErasures(tx: Db): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock_shared(${LOCKS.erasure})`);
}

/** When somebody was last erased, as long as that is remembered. */
export async function findErasure(
  db: Db,
  steamId64: SteamId64,
): Promise<Omit<typeof erasedPeople.$inferSelect, 'idHash' | 'secretId'> | undefined> {
  const secret = await findSetting(db, SECRET);
  if (secret === undefined) return undefined;
  const [erasure] = await db
    .select({ erasedAt: erasedPeople.erasedAt, staysAnonymous: erasedPeople.staysAnonymous })
    .from(erasedPeople)
    .where(eq(erasedPeople.idHash, hashOf(secret, steamId64)));
  return erasure;
}

/** What was asked about somebody before they were erased has arrived by then. */
const LATELY = sql`interval '1 minute'`;

/** Which of these players were erased within the last minute. */
export async function listLatelyErased(
  db: Db,
  steamIds: readonly SteamId64[],
): Promise<ReadonlySet<SteamId64>> {
  const erased = await db
    .select({ idHash: erasedPeople.idHash })
    .from(erasedPeople)
    .where(sql`${erasedPeople.erasedAt} > clock_timestamp() - ${LATELY}`);
  const secret = erased.length === 0 ? undefined : await findSetting(db, SECRET);
  if (secret === undefined) return new Set();
  const hashes = new Set(erased.map(({ idHash }) => idHash));
  return new Set(steamIds.filter((id) => hashes.has(hashOf(secret, id))));
}

/** How many were erased by a secret that is lost: nobody recognises them, and imports bring their names back. */
export async function countLostTombstones(db: Db): Promise<number> {
  const secret = await findSetting(db, SECRET);
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

/**
 * What makes penalties anonymous that name erased people, for the rest of the transaction: nobody is erased meanwhile.
 * Without anybody erased it returns penalties as they are.
 */
export async function loadAnonymiser(tx: Transaction): Promise<<P extends NamedPeople>(penalty: P) => P> {
  await tx`select pg_advisory_xact_lock_shared(${LOCKS.erasure})`;
  const erased = await tx<{ idHash: string }[]>`
    select id_hash as "idHash" from erased_people where stays_anonymous`;
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

/** Tells secrets apart; the migration that added the column does the same. */
function idOf(secret: string): string {
  return createHash('sha256').update(`erasure secret ${secret}`).digest('hex');
}
