import { and, inArray, isNotNull } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { userFlags, users } from '../../db/schema/accounts.ts';
import type { UserFlag } from '../../domain/rights/user-flags.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { liftBlock } from './user-blocks.ts';
import { saveFlagRound } from './user-flags.ts';

/** People whom the configuration names: `OWNER_STEAMIDS`, `MODERATOR_STEAMIDS`. */
export type ConfiguredPeople = {
  ownerSteamIds: readonly SteamId64[];
  moderatorSteamIds: readonly SteamId64[];
};

/** The flags that the configuration gives to somebody. */
export function listConfiguredFlags(
  { ownerSteamIds, moderatorSteamIds }: ConfiguredPeople,
  steamId64: SteamId64,
): UserFlag[] {
  return [
    ...(ownerSteamIds.includes(steamId64) ? (['is_owner', 'is_admin'] as const) : []),
    ...(moderatorSteamIds.includes(steamId64) ? (['is_moderator'] as const) : []),
  ];
}

/**
 * Gives flags to the people whom the configuration names, and takes them from those it no longer names. They get an
 * account, unless they were erased. Written to the audit log, with actor `configuration`.
 */
export async function saveConfiguredFlags(db: Db, people: ConfiguredPeople, now: Date): Promise<void> {
  const named = [...new Set([...people.ownerSteamIds, ...people.moderatorSteamIds])];
  const grants = named.flatMap((steamId64) =>
    listConfiguredFlags(people, steamId64).map((flag) => ({ steamId64, flag, endsAt: null })),
  );
  await db.transaction(async (tx) => {
    await saveFlagRound(tx, 'configuration', { grants, now });
    const given = await tx
      .selectDistinct({ steamId64: userFlags.steamId64 })
      .from(userFlags)
      .where(inArray(userFlags.steamId64, named));
    if (given.length > 0) await tx.insert(users).values(given).onConflictDoNothing();
    const isBlockedOwner = and(
      inArray(users.steamId64, [...people.ownerSteamIds]),
      isNotNull(users.blockedAt),
    );
    for (const user of await tx.select().from(users).where(isBlockedOwner).for('update')) {
      await liftBlock(tx, user, 'configuration');
    }
  });
}
