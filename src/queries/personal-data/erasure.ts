import { and, eq, inArray, isNotNull, like, ne, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import { type Db, inTransaction, type Tx } from '../../db/client.ts';
import { retryConflicts } from '../../db/locks.ts';
import { auditLog, staffNotes, steamBans, userFlags, users } from '../../db/schema/accounts.ts';
import { discordFeeds, discordNotifications, liveStatusMessages } from '../../db/schema/discord.ts';
import { penalties, penaltyEvents, penaltyTallies, TALLY_SCOPES } from '../../db/schema/penalties.ts';
import { UNKNOWN_DISCORD_ID } from '../../domain/discord-id.ts';
import { FORMER_ADMIN } from '../../domain/penalty.ts';
import type { Actor } from '../../domain/rights/actor.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import { eraseAppeals } from '../appeals/limits.ts';
import { ERASED_SUBJECT, recordAudit } from '../audit-log.ts';
import { writePenalties } from '../penalties/write.ts';
import { lockPlayer } from '../round-sounds/round-sounds.ts';
import { saveTombstone } from './tombstones.ts';

/** Longer statements of an erasure are cancelled, because they hold locks that others wait for. */
const STATEMENT_LIMIT_MS = 10_000;

export type Erasure = {
  /** Whether there was an account. */
  account: boolean;
  /** How many penalties became anonymous. */
  penalties: number;
};

type ErasureOptions = {
  /** Anonymises their penalties too, also in later imports. */
  withPenalties: boolean;
  /** `member` for the player themself. */
  actor: Actor;
  /** Removes rows and files of their sounds; called while nobody can add one. */
  removeSounds: (tx: Tx) => Promise<void>;
};

/**
 * Deletes what is stored about a player: the account with its tokens, sessions, Discord link and sounds, and their
 * traces in the audit log. Penalties come first, in several transactions; after an interruption it can be repeated. The
 * rest is one transaction: concurrent writes for the player wait for it and then find no account. Written to the audit
 * log without naming the player.
 */
export async function erasePerson(db: Db, steamId64: SteamId64, options: ErasureOptions): Promise<Erasure> {
  const { withPenalties } = options;
  const runStep = <T>(step: (tx: Tx) => Promise<T>) =>
    retryConflicts(() => inTransaction(db, limitStatements(step)));
  // Committed before the first penalty changes: from now on no import restores the name.
  if (withPenalties) await runStep((tx) => saveTombstone(tx, steamId64, { staysAnonymous: true }));
  const write: RunStep = (step) => writePenalties(db, limitStatements(step), { isErasure: true });
  const penalties = withPenalties ? await anonymisePenalties(write, steamId64) : 0;
  return runStep((tx) => eraseAccount(tx, steamId64, { ...options, penalties }));
}

/** Does the same in one transaction, in which nobody else can write. */
export async function erasePersonWithin(
  tx: Tx,
  steamId64: SteamId64,
  options: ErasureOptions,
): Promise<Erasure> {
  const penalties = options.withPenalties ? await anonymisePenalties((step) => step(tx), steamId64) : 0;
  return eraseAccount(tx, steamId64, { ...options, penalties });
}

type RunStep = <T>(step: (tx: Tx) => Promise<T>) => Promise<T>;

/** Runs a step of an erasure with the statement timeout of erasures. */
function limitStatements<T>(step: (tx: Tx) => Promise<T>): (tx: Tx) => Promise<T> {
  return async (tx) => {
    await tx.execute(sql`select set_config('statement_timeout', ${`${STATEMENT_LIMIT_MS}`}, true)`);
    return step(tx);
  };
}

async function eraseAccount(
  tx: Tx,
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
    .update(liveStatusMessages)
    .set({ pinnedBy: null })
    .where(inArray(liveStatusMessages.pinnedBy, discordIds));
  await tx.delete(discordNotifications).where(inArray(discordNotifications.discordId, discordIds));
  await tx
    .update(auditLog)
    .set({ actor: 'member', details: sql`${auditLog.details} - 'discordId'` })
    .where(discordEntriesCondition(discordIds));
  if (user) {
    await tx.update(auditLog).set({ actor: 'member' }).where(eq(auditLog.actorUserId, user.id));
    await tx.delete(users).where(eq(users.id, user.id));
  }
  await anonymiseOtherEvents(tx, steamId64);
  await tx.delete(userFlags).where(eq(userFlags.steamId64, steamId64));
  await eraseAppeals(tx, steamId64, { withPenalties });
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

/**
 * Anonymises a player in events about other subjects than penalties, which name people only by SteamID and penalty. The
 * rows stay, since cursors may point at them.
 */
async function anonymiseOtherEvents(tx: Tx, steamId64: SteamId64): Promise<void> {
  const text = sql`${penaltyEvents.data}::text`;
  const anonymous = sql`replace(${text}, ${`"${steamId64}"`}, ${`"${UNKNOWN_STEAM_ID}"`})::jsonb`;
  const withoutAppeal = sql`jsonb_set(${anonymous}, '{appeal,id}', '0', false)`;
  await tx
    .update(penaltyEvents)
    .set({ data: sql`jsonb_set(${withoutAppeal}, '{appeal,penalty_id}', '0', false)` })
    .where(and(isNotNull(penaltyEvents.data), like(text, `%"${steamId64}"%`)));
}

/** The ids of the Discord accounts that a player has or had linked, except those that somebody else has linked now. */
export async function findDiscordIds(db: Db | Tx, steamId64: SteamId64): Promise<string[]> {
  const formerId = sql`${auditLog.details} ->> 'discordId'`;
  const rows = await db.execute<{ id: string }>(sql`
    select ${users.discordId}::text as id from ${users} where ${eq(users.steamId64, steamId64)} and ${isNotNull(users.discordId)}
    union
    select ${formerId} from ${auditLog} where ${eq(auditLog.subject, steamId64)} and ${formerId} <> ''
    except
    select ${users.discordId}::text from ${users} where ${ne(users.steamId64, steamId64)}`);
  return rows.map(({ id }) => id);
}

/** The entries about what members without a linked account did under one of these ids. */
export function discordEntriesCondition(discordIds: string[]): SQL | undefined {
  return and(
    eq(auditLog.actor, 'discord-member'),
    inArray(sql`${auditLog.details} ->> 'discordId'`, discordIds),
  );
}

/** Rows of one step; it blocks all writers of penalties for a fraction of a second. */
const STEP = 250;

/**
 * Anonymises a player in all penalties and their events: as the punished player, as the admin, and as the one who lifted
 * them.
 * @returns how many penalties changed.
 */
async function anonymisePenalties(runStep: RunStep, steamId64: SteamId64): Promise<number> {
  let changedCount = 0;
  for (const table of [penalties, penaltyEvents] as const) {
    // One role after another: each has its index.
    for (const role of [table.playerSteamId, table.adminSteamId, table.liftedBySteamId]) {
      for (let count = STEP; count === STEP; ) {
        count = await runStep((tx) => anonymiseStep(tx, table, { role, steamId64 }));
        if (table === penalties) changedCount += count;
      }
    }
  }
  await runStep(async (tx) => {
    // Triggers have moved the counts to other tallies: only zeros are left in these.
    await tx.delete(penaltyTallies).where(tallyCondition(steamId64));
    await tx.execute(sql`select pg_notify('changed', 'erasures')`);
  });
  return changedCount;
}

/** @returns how many rows changed: fewer than {@link STEP} once no row names the player in this role. */
async function anonymiseStep(
  tx: Tx,
  table: typeof penalties | typeof penaltyEvents,
  { role, steamId64 }: { role: PgColumn; steamId64: SteamId64 },
): Promise<number> {
  const rows = await tx.select({ id: table.id }).from(table).where(eq(role, steamId64)).limit(STEP);
  const ids = rows.map(({ id }) => id);
  if (ids.length === 0) return 0;
  const without = (column: PgColumn, id: PgColumn, name: string): SQL =>
    sql`case when ${id} = ${steamId64} then ${name} else ${column} end`;
  const idWithout = (id: PgColumn): SQL =>
    sql`case when ${id} = ${steamId64} then ${UNKNOWN_STEAM_ID}::bigint else ${id} end`;
  await tx
    .update(table)
    .set({
      playerName: without(table.playerName, table.playerSteamId, ''),
      playerSteamId: idWithout(table.playerSteamId),
      adminName: without(table.adminName, table.adminSteamId, FORMER_ADMIN),
      adminSteamId: idWithout(table.adminSteamId),
      liftedByName: without(table.liftedByName, table.liftedBySteamId, FORMER_ADMIN),
      liftedBySteamId: idWithout(table.liftedBySteamId),
    })
    .where(inArray(table.id, ids));
  return ids.length;
}

/**
 * The tallies of an admin, those per server included. To use the primary key, whose second column is the server, it
 * lists the servers that have tallies.
 */
export function tallyCondition(steamId64: SteamId64): SQL {
  const { scope, serverId, adminSteamId } = penaltyTallies;
  const servers = sql`(select distinct of_server.server_id from ${penaltyTallies} as of_server
    where of_server.scope = ${TALLY_SCOPES.server} and of_server.period = 0)`;
  return sql`${adminSteamId} = ${steamId64} and (
    (${scope} = ${TALLY_SCOPES.admin} and ${serverId} = 0)
    or (${scope} = ${TALLY_SCOPES.serverAndAdmin} and ${serverId} in ${servers}))`;
}
