import { eq, inArray, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { retryVictim } from '../../db/retry.ts';
import { staffNotes, steamBans, userFlags, users } from '../../db/schema/accounts.ts';
import { auditLog } from '../../db/schema/audit-log.ts';
import { discordFeeds } from '../../db/schema/discord.ts';
import { UNKNOWN_DISCORD_ID } from '../../domain/discord-id.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { ERASED_SUBJECT, recordAudit } from '../audit-log.ts';
import { lockPlayer } from '../round-sounds/round-sounds.ts';
import { anonymisePenalties, type RunStep } from './anonymous-penalties.ts';
import { discordEntriesCondition, findDiscordIds } from './discord-ids.ts';
import { saveTombstone } from './tombstones.ts';

/** Longer statements of an erasure are cancelled, because they hold locks that others wait for. */
const STATEMENT_LIMIT_MS = 10_000;

export type Erasure = {
  /** Whether there was an account. */
  account: boolean;
  /** How many penalties became anonymous. */
  penalties: number;
};

export type ErasureOptions = {
  /** Anonymises their penalties too, also in later imports. */
  withPenalties: boolean;
  /** `member` for the player themself. */
  actor: Actor;
  /** Removes rows and files of their sounds; called while nobody can add one. */
  removeSounds: (tx: Db) => Promise<void>;
};

/**
 * Deletes what is stored about a player: the account with its tokens, sessions, Discord link and sounds, and their
 * traces in the audit log. Penalties come first, in several transactions; after an interruption it can be repeated. The
 * rest is one transaction: concurrent writes for the player wait for it and then find no account. Written to the audit
 * log without naming the player.
 */
export async function erasePerson(db: Db, steamId64: SteamId64, options: ErasureOptions): Promise<Erasure> {
  const { withPenalties } = options;
  const runStep: RunStep = (step) =>
    retryVictim(() =>
      db.transaction(async (tx) => {
        await tx.execute(sql`select set_config('statement_timeout', ${`${STATEMENT_LIMIT_MS}`}, true)`);
        return step(tx);
      }),
    );
  // Committed before the first penalty changes: from now on no import restores the name.
  if (withPenalties) await runStep((tx) => saveTombstone(tx, steamId64, { staysAnonymous: true }));
  const penalties = withPenalties ? await anonymisePenalties(runStep, steamId64) : 0;
  return runStep((tx) => eraseAccount(tx, steamId64, { ...options, penalties }));
}

async function eraseAccount(
  tx: Db,
  steamId64: SteamId64,
  { withPenalties, actor, removeSounds, penalties }: ErasureOptions & { penalties: number },
): Promise<Erasure> {
  await saveTombstone(tx, steamId64, { staysAnonymous: withPenalties });
  // Uploads take this lock before they check the account.
  await lockPlayer(tx, steamId64);
  await removeSounds(tx);
  const [user] = await tx.select().from(users).where(eq(users.steamId64, steamId64)).for('update');
  const discordIds = await findDiscordIds(tx, steamId64);
  await tx
    .update(discordFeeds)
    .set({ startedBy: UNKNOWN_DISCORD_ID })
    .where(inArray(discordFeeds.startedBy, discordIds));
  await tx
    .update(auditLog)
    .set({ actor: 'member', details: sql`${auditLog.details} - 'discordId'` })
    .where(discordEntriesCondition(discordIds));
  if (user) {
    await tx.update(auditLog).set({ actor: 'member' }).where(eq(auditLog.actorUserId, user.id));
    await tx.delete(users).where(eq(users.id, user.id));
  }
  await tx.delete(userFlags).where(eq(userFlags.steamId64, steamId64));
  await tx.delete(staffNotes).where(eq(staffNotes.steamId64, steamId64));
  await tx.delete(steamBans).where(eq(steamBans.steamId64, steamId64));
  // After the account: concurrent changes to it have written their entries by now.
  await tx
    .update(auditLog)
    .set({ subject: ERASED_SUBJECT, details: {} })
    .where(eq(auditLog.subject, steamId64));
  await recordAudit(tx, {
    actor,
    action: actor === 'member' ? 'user.deleted' : 'user.erased',
    subject: ERASED_SUBJECT,
    details: { penalties },
  });
  return { account: user !== undefined, penalties };
}
