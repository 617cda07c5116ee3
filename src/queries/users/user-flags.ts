import { and, asc, eq, inArray, lte, min, notInArray, type SQL, sql } from 'drizzle-orm';
import { type Db, inTransaction, type Reads, type Tx } from '../../db/client.ts';
import { LOCKS } from '../../db/locks.ts';
import { userFlags, users } from '../../db/schema/accounts.ts';
import { arrayLiteral } from '../../db/select.ts';
import {
  type FlagGrant,
  type FlagMapping,
  type FlagSource,
  USER_FLAG_NAMES,
  USER_FLAGS,
  type UserFlag,
  type UserFlagColumn,
} from '../../domain/rights/user-flags.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import type { FlagSystem } from '../../domain/systems.ts';
import { recordAudits } from '../audit-log.ts';
import { forgetHeldRemovals, holdRemovals, keepHeldRemovals } from '../held-removals.ts';
import { holdOffErasures, listErased } from '../personal-data/tombstones.ts';
import { findJsonSetting, saveSetting } from '../settings.ts';

/** Where somebody has a flag from, and until when; `endsAt` null: until the source no longer gives it. */
export type GivenFlag = { flag: UserFlag; source: FlagSource; endsAt: Date | null };

/** Where somebody has flags from, in the order of names. */
export async function listGivenFlags(db: Db | Reads, steamId64: SteamId64): Promise<GivenFlag[]> {
  return db
    .select({ flag: userFlags.flag, source: userFlags.source, endsAt: userFlags.endsAt })
    .from(userFlags)
    .where(eq(userFlags.steamId64, steamId64))
    .orderBy(asc(userFlags.flag), asc(userFlags.source));
}

/** Adds or removes flags of the source `hand`; absent ones stay. @param tx a transaction that has locked the user. */
export async function saveFlagsByHand(
  tx: Tx,
  steamId64: SteamId64,
  flags: { [column in UserFlagColumn]?: boolean | undefined },
): Promise<void> {
  const ofValue = (value: boolean) => USER_FLAG_NAMES.filter((flag) => flags[USER_FLAGS[flag]] === value);
  const [gains, losses] = [ofValue(true), ofValue(false)];
  if (gains.length > 0) await giveFlags(tx, steamId64, 'hand', gains);
  if (losses.length === 0) return;
  const isLost = and(inArray(userFlags.flag, losses), eq(userFlags.source, 'hand'));
  await tx.delete(userFlags).where(and(eq(userFlags.steamId64, steamId64), isLost));
}

/** Gives somebody flags of a source, besides those that it gives already. */
export async function giveFlags(
  tx: Tx,
  steamId64: SteamId64,
  source: FlagSource,
  flags: readonly UserFlag[],
): Promise<void> {
  await tx
    .insert(userFlags)
    .values(flags.map((flag) => ({ steamId64, flag, source })))
    .onConflictDoNothing();
}

type FlagRound = {
  /** Those that have ended do not count; of several for one flag, the longest. */
  grants: readonly FlagGrant<SteamId64>[];
  /** The only people who were read; everybody by default. */
  among?: readonly SteamId64[];
  now: Date;
};

type FlagCounts = { given: number; taken: number };

/** What decides whether a flag may end for many people at once. */
type FlagGuard = {
  /** How the flags were read. Losses of a flag whose permissions changed since the last guarded round are expected. */
  mapping: FlagMapping;
  /** Of `areRemovalsAccepted`, when the round began. */
  isAccepted: boolean;
};

/**
 * Saves everything that a source gives, as read in one complete round: what it no longer gives ends, and what other sources
 * give stays. Erased people without a new account get nothing. The audit log records which flags came and went.
 * @param tx a transaction that has taken no lock but those of {@link lockFlags} yet.
 */
export async function saveFlagRound(tx: Tx, source: FlagSource, round: FlagRound): Promise<FlagCounts> {
  return writeRound(tx, source, round, async () => []);
}

/**
 * Saves a round of another system as {@link saveFlagRound} does, but a flag that would end for at least five people and for
 * more than half of those who have it from there ends for nobody: see {@link holdRemovals}, which remembers that.
 *
 * For Discord, a round is an hourly sweep, saved at its end: `grants` and `among` are of everybody whom it read. People
 * who were saved separately since then (linked, unlinked, an interaction) are in neither.
 */
export async function saveGuardedFlagRound(
  tx: Tx,
  system: FlagSystem,
  round: FlagRound,
  { mapping, isAccepted }: FlagGuard,
): Promise<FlagCounts> {
  return writeRound(tx, system, round, async (isLost) => {
    const key = `flags.${system}`;
    const before = await findJsonSetting<FlagMapping[number][]>(tx, key, (stored) =>
      stored.every((each) => typeof each?.flag === 'string' && Array.isArray(each.permissions)),
    );
    const counts = await tx.execute<{ flag: UserFlag; removals: number; total: number }>(sql`
      select flag, (count(*) filter (where ${isLost}))::integer as removals, count(*)::integer as total from user_flags
      where source = ${system} and (ends_at is null or ends_at > ${round.now.toISOString()}::timestamptz) group by flag`);
    const losses = counts.map(({ flag, removals, total }) => ({
      subject: flag,
      counts: [{ removals, total }],
      isExpected:
        before !== undefined && !Bun.deepEquals(permissionsOf(before, flag), permissionsOf(mapping, flag)),
    }));
    if (!Bun.deepEquals(before, mapping)) await saveSetting(tx, key, JSON.stringify(mapping));
    const held = await holdRemovals(tx, { system, kind: 'flags' }, losses, { isAccepted, now: round.now });
    await keepHeldRemovals(tx, { system, kind: 'flags' }, held);
    return held;
  });
}

function permissionsOf(mapping: FlagMapping, flag: UserFlag): readonly string[] | undefined {
  return mapping.find((each) => each.flag === flag)?.permissions;
}

/** @param chooseKept returns the flags that end for nobody. */
async function writeRound(
  tx: Tx,
  source: FlagSource,
  { grants, among, now }: FlagRound,
  chooseKept: (isLost: SQL) => Promise<readonly string[]>,
): Promise<FlagCounts> {
  await lockFlags(tx);
  const erased = await listErasedWithoutAccount(tx, [...new Set(grants.map(({ steamId64 }) => steamId64))]);
  const longestGrants = new Map<string, FlagGrant<SteamId64>>();
  for (const grant of grants) {
    if ((grant.endsAt && grant.endsAt <= now) || erased.has(grant.steamId64)) continue;
    const key = `${grant.steamId64} ${grant.flag}`;
    if (!endsLater(longestGrants.get(key), grant)) longestGrants.set(key, grant);
  }
  const rows = JSON.stringify(
    [...longestGrants.values()].map(({ steamId64, flag, endsAt }) => ({ id: steamId64, flag, ends: endsAt })),
  );
  const round = sql`(select id as steamid64, flag, ends as ends_at
    from jsonb_to_recordset(${rows}::text::jsonb) as grants (id bigint, flag text, ends timestamptz(3)))`;
  const isOnlySource = sql`not exists (select from user_flags as other
    where other.steamid64 = changed.steamid64 and other.flag = changed.flag and other.source <> ${source})`;
  const wasRead = among ? sql`steamid64 = any(${arrayLiteral(among)})` : sql`true`;
  const isLost = sql`(source = ${source} and ${wasRead} and not exists
    (select from ${round} as grants where grants.steamid64 = user_flags.steamid64 and grants.flag = user_flags.flag))`;
  const kept = await chooseKept(isLost);
  const lostFlags = await tx.execute<FlagChange>(sql`
    with changed as (
      delete from user_flags where ${isLost} and flag <> all(${arrayLiteral(kept)}::text[])
      returning steamid64, flag
    ) select steamid64::text as "steamId64", flag from changed where ${isOnlySource}`);
  const newFlags = await tx.execute<FlagChange>(sql`
    with changed as (
      insert into user_flags (steamid64, flag, source, ends_at, seen_at)
      select steamid64, flag, ${source}, ends_at, ${now.toISOString()}::timestamptz from ${round} as grants
      on conflict (steamid64, flag, source) do update set ends_at = excluded.ends_at, seen_at = excluded.seen_at
        where user_flags.ends_at is distinct from excluded.ends_at
          or user_flags.seen_at < excluded.seen_at - interval '1 hour'
      returning steamid64, flag, xmax = 0 as is_new
    ) select steamid64::text as "steamId64", flag from changed where is_new and ${isOnlySource}`);
  await recordChanges(tx, source, { given: newFlags, taken: lostFlags });
  return { given: newFlags.length, taken: lostFlags.length };
}

type FlagChange = { steamId64: SteamId64; flag: UserFlag };

/** One entry for each person, in which each flag that changed is true or false. */
async function recordChanges(
  tx: Tx,
  source: FlagSource,
  { given: newFlags, taken: lostFlags }: { given: readonly FlagChange[]; taken: readonly FlagChange[] },
): Promise<void> {
  const byPerson = new Map<SteamId64, Partial<Record<UserFlagColumn, boolean>>>();
  for (const [changes, value] of [[lostFlags, false] as const, [newFlags, true] as const]) {
    for (const { steamId64, flag } of changes) {
      byPerson.set(steamId64, { ...byPerson.get(steamId64), [USER_FLAGS[flag]]: value });
    }
  }
  const entries = [...byPerson].map(([subject, flags]) => ({
    actor: 'configuration' as const,
    action: 'user.flags-set' as const,
    subject,
    details: { ...flags, ...(source !== 'configuration' && { source }) },
  }));
  await recordAudits(tx, entries);
}

/** Ends the flags of systems that are no longer configured. */
export async function endFlagsOfOthers(db: Db, configured: readonly FlagSystem[], now: Date): Promise<void> {
  const isOther = notInArray(userFlags.source, ['hand', 'configuration', ...configured]);
  const others = await db.selectDistinct({ source: userFlags.source }).from(userFlags).where(isOther);
  for (const { source } of others) {
    await inTransaction(db, (tx) => saveFlagRound(tx, source, { grants: [], now }));
  }
  await forgetHeldRemovals(db, 'flags', configured);
}

/** Ends the flags whose time has run out. @returns when the next one ends. */
export async function endTimedFlags(db: Db, now: Date): Promise<Date | undefined> {
  const next = await findNextEnd(db);
  if (!next || next > now) return next;
  await inTransaction(db, async (tx) => {
    await lockFlags(tx);
    await tx.delete(userFlags).where(lte(userFlags.endsAt, now));
  });
  return findNextEnd(db);
}

async function findNextEnd(db: Db): Promise<Date | undefined> {
  const [row] = await db.select({ endsAt: min(userFlags.endsAt) }).from(userFlags);
  return row?.endsAt ?? undefined;
}

/** Blocks erasures, new accounts, and other rounds. @param tx a transaction that has taken no lock yet. */
export async function lockFlags(tx: Tx): Promise<void> {
  await holdOffErasures(tx);
  await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.flags})`);
}

/** Blocks rounds until the transaction ends: they lock the flags of a user, then the user. */
export async function holdOffFlagRounds(tx: Tx): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock_shared(${LOCKS.flags})`);
}

export async function listErasedWithoutAccount(
  tx: Tx,
  steamIds: readonly SteamId64[],
): Promise<ReadonlySet<SteamId64>> {
  const erased = await listErased(tx, steamIds);
  if (erased.size === 0) return erased;
  const accounts = await tx
    .select({ steamId64: users.steamId64 })
    .from(users)
    .where(sql`${users.steamId64} = any(${arrayLiteral([...erased])})`);
  return erased.difference(new Set(accounts.map(({ steamId64 }) => steamId64)));
}

function endsLater(grant: FlagGrant | undefined, { endsAt }: FlagGrant): boolean {
  if (!grant) return false;
  return grant.endsAt === null || (endsAt !== null && grant.endsAt >= endsAt);
}
