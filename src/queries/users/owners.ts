import { and, eq, notInArray, or, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { LOCKS } from '../../db/locks.ts';
import { users } from '../../db/schema/accounts.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { recordAudit } from '../audit-log.ts';
import { liftBlock } from './user-blocks.ts';
import type { User } from './users.ts';

/** The flags that `OWNER_STEAMIDS` gives, and the columns that record that it did. */
const GIVEN_FLAGS = [
  ['isOwner', 'ownerByConfig'],
  ['isAdmin', 'adminByConfig'],
] as const;
type GivenFlag = (typeof GIVEN_FLAGS)[number][0];

/**
 * Gives the users of `OWNER_STEAMIDS` the flags owner and admin, and removes them from users it no longer names. Flags
 * that were set by hand, before or since, stay. Both are written to the audit log, with actor `configuration`.
 */
export async function saveConfiguredOwners(db: Db, steamIds: readonly SteamId64[]): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.configuredOwners})`);
    for (const steamId of steamIds) await grantConfiguredOwner(tx, steamId);
    const formerOwner = and(
      or(eq(users.ownerByConfig, true), eq(users.adminByConfig, true)),
      notInArray(users.steamId64, [...steamIds]),
    );
    for (const user of await tx.select().from(users).where(formerOwner).for('update')) await revoke(tx, user);
  });
}

/**
 * Gives a user of `OWNER_STEAMIDS` both flags; creates the user when missing.
 * @param db a transaction.
 */
export async function grantConfiguredOwner(db: Db, steamId64: SteamId64): Promise<void> {
  await db.insert(users).values({ steamId64 }).onConflictDoNothing();
  const [user] = await db.select().from(users).where(eq(users.steamId64, steamId64)).for('update');
  if (!user) throw new Error(`the owner ${steamId64} was deleted meanwhile`);
  await liftBlock(db, user, 'configuration');
  const given = GIVEN_FLAGS.map(([flag]) => flag).filter((flag) => !user[flag]);
  const origins: Partial<Record<(typeof GIVEN_FLAGS)[number][1], boolean>> = {};
  for (const [flag, origin] of GIVEN_FLAGS) {
    if (!user[flag]) origins[origin] = true;
  }
  if (Object.keys(origins).length === 0) return;
  await db
    .update(users)
    .set({ isOwner: true, isAdmin: true, ...origins })
    .where(eq(users.id, user.id));
  await recordFlags(db, steamId64, { flags: given, value: true });
}

/** @param user whose row the transaction has locked. */
async function revoke(db: Db, user: User): Promise<void> {
  const taken = GIVEN_FLAGS.filter(([, origin]) => user[origin]).map(([flag]) => flag);
  await db
    .update(users)
    .set({
      ...Object.fromEntries(taken.map((flag) => [flag, false])),
      ownerByConfig: false,
      adminByConfig: false,
    })
    .where(eq(users.id, user.id));
  await recordFlags(db, user.steamId64, { flags: taken, value: false });
}

async function recordFlags(
  db: Db,
  steamId64: SteamId64,
  { flags, value }: { flags: readonly GivenFlag[]; value: boolean },
): Promise<void> {
  if (flags.length === 0) return;
  await recordAudit(db, {
    actor: 'configuration',
    action: 'user.flags-set',
    subject: steamId64,
    details: Object.fromEntries(flags.map((flag) => [flag, value])),
  });
}
