import { eq, sql } from 'drizzle-orm';
import type { Tx } from '../../db/client.ts';
import { erasedPeople } from '../../db/schema/accounts.ts';
import { roundSounds } from '../../db/schema/round-sounds.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { findOrSaveSetting, findSetting } from '../settings.ts';
import { erasePersonWithin } from './erasure.ts';
import { listPeople } from './export.ts';
import { ERASURE_SECRET, hashOf } from './tombstones.ts';

type Tombstone = typeof erasedPeople.$inferSelect;

/** The tombstones of erasures that a backup may lack, and the secret of their hashes. */
type LaterErasures = { secret: string | undefined; tombstones: Tombstone[] };

/** An erasure that was running when a backup was made began at most this long before. */
const LONGEST_ERASURE = '1 hour';

/** Lists erasures that may be later than a backup. @param madeAt ISO 8601. */
export async function listLaterErasures(tx: Tx, madeAt: string): Promise<LaterErasures> {
  const isLater = sql`${erasedPeople.erasedAt} > ${madeAt}::timestamptz - ${LONGEST_ERASURE}::interval`;
  return {
    secret: await findSetting(tx, ERASURE_SECRET),
    tombstones: await tx.select().from(erasedPeople).where(isLater),
  };
}

/**
 * Erases people in a restored backup who were erased after it was made, with their rows of sounds, but not the files.
 * @param tx a transaction in which nobody else can write.
 * @returns who they are.
 */
export async function eraseAgain(tx: Tx, later: LaterErasures): Promise<Set<SteamId64>> {
  const people = await keepTombstones(tx, later, listPeople(tx));
  for (const [steamId64, { staysAnonymous: withPenalties }] of people) {
    const removeSounds = async () => {
      await tx.delete(roundSounds).where(eq(roundSounds.steamId64, steamId64));
    };
    await erasePersonWithin(tx, steamId64, { withPenalties, actor: 'operator', removeSounds });
  }
  return new Set(people.keys());
}

/**
 * Keeps the tombstones that a restored backup does not have.
 * @param people everybody in the backup.
 * @returns the people of those tombstones in the backup: they have to be erased again, which makes new tombstones.
 */
async function keepTombstones(
  tx: Tx,
  { secret, tombstones }: LaterErasures,
  people: AsyncIterable<readonly SteamId64[]>,
): Promise<Map<SteamId64, Pick<Tombstone, 'staysAnonymous'>>> {
  const found = new Map<SteamId64, Tombstone>();
  if (secret === undefined) return found;
  const restored = new Map((await tx.select().from(erasedPeople)).map((each) => [each.idHash, each]));
  const later = tombstones.filter(({ idHash, erasedAt }) => {
    const known = restored.get(idHash);
    return known === undefined || known.erasedAt < erasedAt;
  });
  if (later.length === 0) return found;
  // A backup of another database has another secret, which stays: its own tombstones need it.
  await findOrSaveSetting(tx, ERASURE_SECRET, secret);
  const unmatched = new Map(later.map((each) => [each.idHash, each]));
  for await (const ids of people) {
    for (const id of ids) {
      const idHash = hashOf(secret, id);
      const tombstone = unmatched.get(idHash);
      if (tombstone) found.set(id, tombstone);
      unmatched.delete(idHash);
    }
  }
  const { staysAnonymous } = erasedPeople;
  const set = {
    erasedAt: sql`excluded.erased_at`,
    staysAnonymous: sql`${staysAnonymous} or excluded.stays_anonymous`,
  };
  for (const tombstone of unmatched.values())
    await tx.insert(erasedPeople).values(tombstone).onConflictDoUpdate({ target: erasedPeople.idHash, set });
  return found;
}
