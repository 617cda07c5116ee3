import { eq, inArray, or, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { LOCKS } from '../../db/locks.ts';
import { retryVictim } from '../../db/retry.ts';
import { users } from '../../db/schema/accounts.ts';
import { auditLog } from '../../db/schema/audit-log.ts';
import { discordFeeds } from '../../db/schema/discord.ts';
import { penalties, penaltyTallies } from '../../db/schema/penalties.ts';
import { penaltyEvents } from '../../db/schema/penalty-events.ts';
import { steamBans } from '../../db/schema/steam.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { recordAudit } from '../audit-log.ts';
import { FORMER_ADMIN, NOBODY, saveTombstone } from './tombstones.ts';

/** The subject of audit entries about somebody who was erased. */
const ERASED = 'erased';

export type Erasure = {
  /** Whether there was an account. */
  account: boolean;
  /** How many penalties are anonymous now. */
  penalties: number;
};

/**
 * Deletes what is kept about a player: the account with its tokens, sessions and Discord link, and what the audit log
 * says of them. Sounds are files as well, and are removed before. Written to the audit log, without naming anybody.
 * @param options.withPenalties their penalties no longer name them either, nor do imports from now on.
 * @param options.actor `member` for the player themself.
 */
export async function erasePerson(
  db: Db,
  steamId64: SteamId64,
  { withPenalties, actor }: { withPenalties: boolean; actor: Actor },
): Promise<Erasure> {
  return retryVictim(() => db.transaction((tx) => eraseIn(tx, steamId64, { withPenalties, actor })));
}

async function eraseIn(
  tx: Db,
  steamId64: SteamId64,
  { withPenalties, actor }: { withPenalties: boolean; actor: Actor },
): Promise<Erasure> {
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.erasure})`);
  const count = withPenalties ? await anonymisePenalties(tx, steamId64) : 0;
  const [user] = await tx.select().from(users).where(eq(users.steamId64, steamId64)).for('update');
  if (user) {
    if (user.discordId !== null) {
      await tx
        .update(discordFeeds)
        .set({ startedBy: NOBODY })
        .where(eq(discordFeeds.startedBy, user.discordId));
    }
    await tx.update(auditLog).set({ actor: 'member' }).where(eq(auditLog.actorUserId, user.id));
    await tx.delete(users).where(eq(users.id, user.id));
  }
  await tx.delete(steamBans).where(eq(steamBans.steamId64, steamId64));
  await tx.update(auditLog).set({ subject: ERASED, details: {} }).where(eq(auditLog.subject, steamId64));
  await recordAudit(tx, {
    actor,
    action: actor === 'member' ? 'user.deleted' : 'user.erased',
    subject: ERASED,
    details: { penalties: count },
  });
  return { account: user !== undefined, penalties: count };
}

/**
 * Takes a player out of all penalties and their events: as the punished, as the admin, and as who lifted them.
 * @returns how many penalties changed.
 */
async function anonymisePenalties(tx: Db, steamId64: SteamId64): Promise<number> {
  await saveTombstone(tx, steamId64);
  const isPlayer = eq(penalties.playerSteamId, steamId64);
  const isAdmin = eq(penalties.adminSteamId, steamId64);
  const isLifter = eq(penalties.liftedBySteamId, steamId64);
  const lifted = await tx.select({ id: penalties.id }).from(penalties).where(isLifter);
  const changed = await tx
    .update(penalties)
    .set({
      playerSteamId: sql`case when ${isPlayer} then 0 else ${penalties.playerSteamId} end`,
      playerName: sql`case when ${isPlayer} then '' else ${penalties.playerName} end`,
      adminSteamId: sql`case when ${isAdmin} then 0 else ${penalties.adminSteamId} end`,
      adminName: sql`case when ${isAdmin} then ${FORMER_ADMIN} else ${penalties.adminName} end`,
      liftedBySteamId: sql`case when ${isLifter} then 0 else ${penalties.liftedBySteamId} end`,
      liftedByName: sql`case when ${isLifter} then ${FORMER_ADMIN} else ${penalties.liftedByName} end`,
    })
    .where(or(isPlayer, isAdmin, isLifter))
    .returning({ id: penalties.id });

  // Triggers count those penalties elsewhere now: nothing but zeros is left here.
  await tx.delete(penaltyTallies).where(eq(penaltyTallies.adminSteamId, steamId64));

  await tx
    .update(penaltyEvents)
    .set({ playerSteamId: NOBODY, playerName: '' })
    .where(eq(penaltyEvents.playerSteamId, steamId64));
  await tx
    .update(penaltyEvents)
    .set({ adminSteamId: NOBODY, adminName: FORMER_ADMIN })
    .where(eq(penaltyEvents.adminSteamId, steamId64));
  for (let start = 0; start < lifted.length; start += BATCH) {
    const ids = lifted.slice(start, start + BATCH).map(({ id }) => id);
    await tx
      .update(penaltyEvents)
      .set({
        liftedByName: sql`case when ${penaltyEvents.liftedByName} is null then null else ${FORMER_ADMIN} end`,
      })
      .where(inArray(penaltyEvents.penaltyId, ids));
  }
  return changed.length;
}

/** Ids in one statement. */
const BATCH = 1000;
