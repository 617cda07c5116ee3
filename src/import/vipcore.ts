import { inTransaction } from '../db/client.ts';
import { type FlagGrant, type FlagMapping, mapPermissions } from '../domain/rights/user-flags.ts';
import { type SteamId64, tryParseSteamId } from '../domain/steam-id.ts';
import { SYSTEM_TITLES } from '../domain/systems.ts';
import { listHeldRemovals, saveMissingTables } from '../queries/held-removals.ts';
import { saveGuardedFlagRound } from '../queries/users/user-flags.ts';
import { lookForTables, rememberTables } from './known-tables.ts';
import { createRounds, type Rounds, type RoundsDeps } from './rounds.ts';
import { readSource } from './source/open-source.ts';
import type { SourceDatabase } from './source/tables.ts';
import { parseUnixSeconds, tryParse } from './source/values.ts';

const INTERVAL_SECONDS = 60;

/** The name of every group, in a mapping. */
const ANY_GROUP = '*';

/** Gives flags to VIPs by VIPCore's table of them, which is read whole once a minute. */
export function createVipMirror(
  deps: RoundsDeps,
  {
    url,
    flags,
    intervalSeconds = INTERVAL_SECONDS,
  }: { url: string; flags: FlagMapping; intervalSeconds?: number },
): Rounds {
  const { db, log, now = () => new Date() } = deps;
  return createRounds(deps, {
    system: 'vipcore',
    name: SYSTEM_TITLES.vipcore,
    intervalSeconds,
    async run(signal) {
      const held = await listHeldRemovals(db, 'vipcore');
      const isAccepted = held.some((removal) => removal.isAccepted);
      const { look, grants } = await readSource(url, async (database) => {
        const look = await lookForTables(db, database, { source: 'vipcore', names: ['vip_users'] });
        return { look, grants: look.missing.length > 0 ? [] : await readVips(database, flags) };
      });
      signal.throwIfAborted();
      const missing = isAccepted ? [] : look.missing;
      await saveMissingTables(db, 'vipcore', missing, { before: held, now: now() });
      if (missing.length > 0) return;
      const changes = await inTransaction(db, (tx) =>
        saveGuardedFlagRound(tx, 'vipcore', { grants, now: now() }, { mapping: flags, isAccepted }),
      );
      if (changes.given + changes.taken > 0) log.info(changes, 'flags of VIPCore changed');
      await rememberTables(db, 'vipcore', look, { forgetsMissing: isAccepted });
    },
  });
}

/**
 * The flags of everybody in `vip_users`, which has one row for each server and account.
 * @throws {Unavailable} when the table is missing.
 */
export async function readVips(
  database: SourceDatabase,
  mapping: FlagMapping,
): Promise<FlagGrant<SteamId64>[]> {
  const rows = await database.select('select account_id, `group` as vip_group, expires from vip_users');
  return rows.flatMap(({ account_id, vip_group, expires }) => {
    // Steam's account id.
    const steamId64 = tryParseSteamId(`[U:1:${account_id}]`);
    // 0: permanent. Without a value, the end is unknown, and the row is skipped.
    const endsAt = expires ? tryParse(() => parseUnixSeconds(expires) ?? null) : undefined;
    const group = vip_group?.trim();
    if (!steamId64 || endsAt === undefined || !group) return [];
    return mapPermissions(mapping, steamId64, { permissions: new Set([group, ANY_GROUP]), endsAt });
  });
}
