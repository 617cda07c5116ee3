import { and, count, eq, isNotNull, lte, type SQL, sql } from 'drizzle-orm';
import { type Db, inTransaction } from '../../db/client.ts';
import { userFlags, users } from '../../db/schema/accounts.ts';
import { discordMembers } from '../../db/schema/discord.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { settings } from '../../db/schema/settings.ts';
import { arrayLiteral, selectFrom } from '../../db/select.ts';
import {
  type FlagGrant,
  type FlagMapping,
  type RoleGrant,
  USER_FLAG_NAMES,
  USER_FLAGS,
  type UserFlag,
} from '../../domain/rights/user-flags.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { activeBanOf } from '../penalties/filter.ts';
import { saveSetting } from '../settings.ts';
import { lockFlags, saveFlagRound, saveGuardedFlagRound } from '../users/user-flags.ts';

/** The setting with the sweep under way. While it is there, a trigger adds new links to the members. */
export const SWEEP_SETTING = 'discord_sweep';

/** Somebody whose roles are due to be read, given and removed. */
export type DueMember = {
  discordId: string;
  /** Undefined when they are no longer linked: their roles are only removed. */
  steamId64: SteamId64 | undefined;
  /** The roles that they should have, of those that can be given. */
  wanted: string[];
  /** As stored: the roles that they should have had the last time, also those that can no longer be given. */
  roles: string[];
  /** The flags that their roles gave when they were last read; undefined: unknown. */
  flags: UserFlag[] | undefined;
  /** The flags that they have from Discord. */
  givenFlags: UserFlag[];
  /** As stored: if it differs later, something has changed meanwhile. */
  dueAt: Date;
  failures: number;
};

/** Somebody linked whose roles were read. */
type ReadMember = Pick<DueMember, 'discordId' | 'roles' | 'dueAt'> & {
  steamId64: SteamId64;
  flags: readonly UserFlag[];
  readAt: Date;
  /** Whether lost flags end at once, not at the end of the sweep. */
  losesFlags: boolean;
};

/** The columns of {@link DueMember}, in its order. */
function buildMember(condition: SQL): SQL {
  return sql`
    select ${discordMembers.discordId}, ${users.steamId64}, array_to_string(${wantedRoles()}, ','),
      array_to_string(${discordMembers.roles}, ','), array_to_string(${discordMembers.flags}, ','),
      (select string_agg(${userFlags.flag}, ',') from ${userFlags}
        where ${userFlags.steamId64} = ${users.steamId64} and ${userFlags.source} = 'discord'),
      (extract(epoch from ${discordMembers.dueAt}) * 1000)::bigint, ${discordMembers.failures}
    from ${discordMembers} left join ${users} on ${users.discordId} = ${discordMembers.discordId}
    where ${condition} order by ${discordMembers.dueAt} limit 1`;
}

const buildDueMember = () =>
  buildMember(sql`${discordMembers.dueAt} <= ${sql.placeholder('now')}::timestamptz`);
const buildOneMember = () => buildMember(sql`${users.discordId} = ${sql.placeholder('discordId')}::bigint`);

/** The roles that somebody should have, in ascending order; `{}` when they are not linked. */
function wantedRoles(): SQL {
  const isGiven = (flag: UserFlag) => sql`when ${sql.raw(`'${flag}'`)} then ${users[USER_FLAGS[flag]]}`;
  return sql`array(select distinct role_id
    from unnest(${sql.placeholder('facts')}::text[], ${sql.placeholder('roles')}::bigint[]) as gives (fact, role_id)
    where ${users.discordId} is not null and case fact
      when 'linked' then true
      when 'is_banned' then exists (select from ${penalties} where ${activeBanOf(users.steamId64)})
      ${sql.join(USER_FLAG_NAMES.map(isGiven), sql` `)}
    end order by role_id)`;
}

type Grants = {
  /** The roles that can be given. */
  gives: readonly RoleGrant[];
  now: Date;
};

function toValues({ gives, now }: Grants): { facts: string; roles: string; now: string } {
  return {
    now: now.toISOString(),
    facts: arrayLiteral(gives.map(({ fact }) => fact)),
    roles: arrayLiteral(gives.map(({ roleId }) => roleId)),
  };
}

/** The member who has been due the longest. */
export async function findDueMember(db: Db, grants: Grants): Promise<DueMember | undefined> {
  return toDueMember(await selectFrom(db)('due_discord_member', buildDueMember, toValues(grants)));
}

/** A linked member, due or not. */
export async function findLinkedMember(
  db: Db,
  discordId: string,
  grants: Grants,
): Promise<DueMember | undefined> {
  const values = { ...toValues(grants), discordId };
  return toDueMember(await selectFrom(db)('linked_discord_member', buildOneMember, values));
}

function toDueMember([row]: readonly (readonly unknown[])[]): DueMember | undefined {
  if (!row) return undefined;
  const [discordId, steamId64, wanted, roles, flags, givenFlags, dueAt, failures] = row;
  return {
    discordId: String(discordId),
    steamId64: steamId64 === null ? undefined : (String(steamId64) as SteamId64),
    wanted: splitJoined(wanted),
    roles: splitJoined(roles),
    flags: flags === null ? undefined : (splitJoined(flags) as UserFlag[]),
    givenFlags: splitJoined(givenFlags) as UserFlag[],
    dueAt: new Date(Number(dueAt)),
    failures: Number(failures),
  };
}

/** Splits what `array_to_string` joined. */
function splitJoined(joined: unknown): string[] {
  return joined ? String(joined).split(',') : [];
}

/** Adds linked accounts that are not among the members, due at once. A trigger adds those that are linked later. */
export async function addLinkedMembers(db: Db): Promise<void> {
  let added: { count: number };
  do {
    added = await db.execute(sql`insert into discord_members (discord_id, due_at)
      select discord_id, ${NEXT} from users where discord_id is not null
        and not exists (select from discord_members as member where member.discord_id = users.discord_id)
      limit 5000 on conflict do nothing`);
  } while (added.count > 0);
}

/** Before everybody who is due, as the trigger of `users` writes it. */
const NEXT = sql`clock_timestamp() - interval '1 year'`;

/**
 * Makes players due at once, as far as they are linked, when their bans have changed; and everybody with the role of a ban
 * whose roles no longer fit, since the ban may have been theirs before.
 */
export async function markPlayers(db: Db, players: readonly SteamId64[], grants: Grants): Promise<void> {
  const isPlayer = sql`discord_id in (select discord_id from users where steamid64 = any(${arrayLiteral(players)}::bigint[]))`;
  await markMembers(db, isPlayer, NEXT);
  await markListed(
    db,
    await selectFrom(db)(
      'banned_members_with_other_roles',
      buildBannedMembersWithOtherRoles,
      toValues(grants),
    ),
  );
}

/** Makes everybody due at once whose roles, of those that can be given, no longer fit. Compares all members. */
export async function markMembersWithOtherRoles(db: Db, grants: Grants): Promise<void> {
  await markListed(
    db,
    await selectFrom(db)('members_with_other_roles', buildMembersWithOtherRoles, toValues(grants)),
  );
}

async function markListed(db: Db, ids: readonly (readonly unknown[])[]): Promise<void> {
  const isListed = sql`discord_id = any(${arrayLiteral(ids.map(([id]) => String(id)))}::bigint[])`;
  if (ids.length > 0) await markMembers(db, isListed, NEXT);
}

function buildMembersWithOtherRoles(): SQL {
  return sql`select ${discordMembers.discordId}
    from ${discordMembers} left join ${users} on ${users.discordId} = ${discordMembers.discordId}
    where ${wantedRoles()} <> array(select unnest(${discordMembers.roles})
      intersect select unnest(${sql.placeholder('roles')}::bigint[]) order by 1)`;
}

function buildBannedMembersWithOtherRoles(): SQL {
  // Those with failures have pauses.
  return sql`${buildMembersWithOtherRoles()} and ${discordMembers.failures} = 0 and ${discordMembers.roles} && array(select role_id
    from unnest(${sql.placeholder('facts')}::text[], ${sql.placeholder('roles')}::bigint[]) as gives (fact, role_id)
    where fact = 'is_banned')`;
}

/** Makes everybody due. */
export async function markEverybody(db: Db, dueAt: Date): Promise<void> {
  const at = sql`${dueAt.toISOString()}::timestamptz`;
  await markMembers(db, sql`due_at > ${at}`, at);
}

/** Skips locked rows: somebody else is marking them, and waiting for several could deadlock. */
async function markMembers(db: Db, condition: SQL, dueAt: SQL): Promise<void> {
  await db.execute(sql`update discord_members set due_at = ${dueAt}
    where discord_id in (select discord_id from discord_members where ${condition} for update skip locked)`);
}

/**
 * Saves what was read about a linked member, and gives the flags. They stay due until {@link finishMember}.
 * @returns false when they are no longer linked to the account.
 */
export async function saveMember(db: Db, member: ReadMember, now: Date): Promise<boolean> {
  const { discordId, steamId64, flags, roles, readAt, losesFlags } = member;
  return inTransaction(db, async (tx) => {
    await lockFlags(tx);
    const linkedUsers = await tx
      .select({ id: users.id })
      .from(users)
      .where(and(eq(users.steamId64, steamId64), eq(users.discordId, discordId)))
      .for('no key update');
    if (linkedUsers.length === 0) return false;
    const isMember = eq(discordMembers.discordId, discordId);
    const [row] = await tx
      .update(discordMembers)
      .set({ roles, readAt, flags: [...flags] })
      .where(isMember)
      .returning({ dueAt: discordMembers.dueAt });
    const among = losesFlags ? [steamId64] : [];
    await saveFlagRound(tx, 'discord', { grants: grantsOf(steamId64, flags), among, now });
    // The trigger cannot tell these flags from a change by others, and has made them due at once.
    if (row) await tx.update(discordMembers).set(row).where(isMember);
    return true;
  });
}

function grantsOf(steamId64: SteamId64, flags: readonly UserFlag[]): FlagGrant<SteamId64>[] {
  return flags.map((flag) => ({ steamId64, flag, endsAt: null }));
}

/**
 * Saves that a member has their roles, and when they are due again: at once if something has changed meanwhile. A
 * turn without changes writes only that time.
 */
export async function finishMember(
  db: Db,
  { discordId, dueAt }: Pick<DueMember, 'discordId' | 'dueAt'>,
  { roles, nextAt }: { roles: string[]; nextAt: Date },
): Promise<void> {
  await db
    .update(discordMembers)
    .set({ roles, dueAt: unlessChanged(dueAt, nextAt), failures: 0, problem: null })
    .where(eq(discordMembers.discordId, discordId));
}

/** Saves what failed for somebody, and when to try again. */
export async function postponeMember(
  db: Db,
  { discordId, dueAt }: Pick<DueMember, 'discordId' | 'dueAt'>,
  { failures, problem, nextAt }: { failures: number; problem: string; nextAt: Date },
): Promise<void> {
  await db
    .update(discordMembers)
    .set({ dueAt: unlessChanged(dueAt, nextAt), failures, problem })
    .where(eq(discordMembers.discordId, discordId));
}

/** Puts somebody behind everybody else who is due. */
export async function moveToEnd(
  db: Db,
  { discordId, dueAt }: Pick<DueMember, 'discordId' | 'dueAt'>,
  now: Date,
): Promise<void> {
  await db
    .update(discordMembers)
    .set({ dueAt: unlessChanged(dueAt, now) })
    .where(eq(discordMembers.discordId, discordId));
}

function unlessChanged(dueAt: Date, nextAt: Date): SQL {
  return sql`case when ${discordMembers.dueAt} = ${dueAt.toISOString()}::timestamptz
    then ${nextAt.toISOString()}::timestamptz else ${discordMembers.dueAt} end`;
}

/** Forgets somebody, unless they are linked. */
export async function forgetMember(db: Db, discordId: string): Promise<void> {
  await db.delete(discordMembers).where(and(eq(discordMembers.discordId, discordId), sql`not ${IS_LINKED}`));
}

const IS_LINKED = sql`exists (select from ${users} where ${users.discordId} = ${discordMembers.discordId})`;

/** Forgets everybody, and the sweep: no roles are configured. */
export async function forgetMembers(db: Db): Promise<void> {
  await db.delete(settings).where(eq(settings.key, SWEEP_SETTING));
  await db.delete(discordMembers);
}

/** How many members have which problem. */
export async function countMemberProblems(db: Db): Promise<Record<string, number>> {
  const rows = await db
    .select({ problem: discordMembers.problem, members: count() })
    .from(discordMembers)
    .where(isNotNull(discordMembers.problem))
    .groupBy(discordMembers.problem);
  return Object.fromEntries(rows.map(({ problem, members }) => [problem, members]));
}

/** Whether somebody has been due since before a time. */
export async function isMemberDue(db: Db, until: Date): Promise<boolean> {
  const [row] = await db
    .select({ one: sql`1` })
    .from(discordMembers)
    .where(lte(discordMembers.dueAt, until))
    .limit(1);
  return row !== undefined;
}

/**
 * Ends a sweep: flags that members no longer have end, unless so many people would lose one that it is held back; see
 * {@link saveGuardedFlagRound}.
 * @param options.nextSweep is stored under {@link SWEEP_SETTING}.
 */
export async function endSweep(
  db: Db,
  {
    mapping,
    isAccepted,
    nextSweep,
    now,
  }: { mapping: FlagMapping; isAccepted: boolean; nextSweep: string; now: Date },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    await lockFlags(tx);
    const losers = await tx
      .select({ steamId64: users.steamId64, flags: discordMembers.flags })
      .from(discordMembers)
      .innerJoin(users, eq(users.discordId, discordMembers.discordId))
      .where(sql`exists (select from ${userFlags} where ${userFlags.steamId64} = ${users.steamId64}
        and ${userFlags.source} = 'discord' and ${userFlags.flag} <> all(${discordMembers.flags}))`);
    const grants = losers.flatMap(({ steamId64, flags }) => grantsOf(steamId64, flags ?? []));
    const among = losers.map(({ steamId64 }) => steamId64);
    await saveGuardedFlagRound(tx, 'discord', { grants, among, now }, { mapping, isAccepted });
    await saveSetting(tx, SWEEP_SETTING, nextSweep);
  });
}
