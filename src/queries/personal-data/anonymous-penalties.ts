import { eq, inArray, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Db } from '../../db/client.ts';
import { lockPenalties } from '../../db/locks.ts';
import { penalties, penaltyEvents, penaltyTallies, TALLY_SCOPES } from '../../db/schema/penalties.ts';
import { FORMER_ADMIN } from '../../domain/penalty.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';

/** Runs one step of an erasure in a transaction of its own, with a statement timeout. */
export type RunStep = <T>(step: (tx: Db) => Promise<T>) => Promise<T>;

/** Rows of one step; it blocks all writers of penalties for a fraction of a second. */
const STEP = 250;

/**
 * Anonymises a player in all penalties and their events: as the punished player, as the admin, and as the one who lifted
 * them. Each step is a transaction.
 * @returns how many penalties changed.
 */
export async function anonymisePenalties(runStep: RunStep, steamId64: SteamId64): Promise<number> {
  let changed = 0;
  for (const table of [penalties, penaltyEvents] as const) {
    // One role after another: each has an index of its own.
    for (const role of [table.playerSteamId, table.adminSteamId, table.liftedBySteamId]) {
      for (let count = STEP; count === STEP; ) {
        count = await runStep((tx) => anonymiseStep(tx, table, { role, steamId64 }));
        if (table === penalties) changed += count;
      }
    }
  }
  await runStep(async (tx) => {
    await deleteTallies(tx, steamId64);
    await tx.execute(sql`select pg_notify('changed', 'erasures')`);
  });
  return changed;
}

/** @returns how many rows changed: fewer than {@link STEP} once no row names the player in this role. */
async function anonymiseStep(
  tx: Db,
  table: typeof penalties | typeof penaltyEvents,
  { role, steamId64 }: { role: PgColumn; steamId64: SteamId64 },
): Promise<number> {
  await lockPenalties(tx);
  const found = tx.select({ id: table.id }).from(table).where(eq(role, steamId64)).limit(STEP);
  const ids = (await found).map(({ id }) => id);
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

/** Triggers have moved the counts to other tallies: only zeros are left in these. */
async function deleteTallies(tx: Db, steamId64: SteamId64): Promise<void> {
  await lockPenalties(tx);
  await tx.delete(penaltyTallies).where(tallyCondition(steamId64));
}

/**
 * The tallies of an admin, those per server included. To use the primary key, whose second column is the server, it
 * lists the servers that have tallies of their own.
 */
export function tallyCondition(steamId64: SteamId64): SQL {
  const { scope, serverId, adminSteamId } = penaltyTallies;
  const servers = sql`(select distinct of_server.server_id from ${penaltyTallies} as of_server
    where of_server.scope = ${TALLY_SCOPES.server} and of_server.period = 0)`;
  return sql`${adminSteamId} = ${steamId64} and (
    (${scope} = ${TALLY_SCOPES.admin} and ${serverId} = 0)
    or (${scope} = ${TALLY_SCOPES.serverAndAdmin} and ${serverId} in ${servers}))`;
}
