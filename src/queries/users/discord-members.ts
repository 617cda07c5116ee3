import { and, eq, sql } from 'drizzle-orm';
import type { Db } from '../../db/client.ts';
import { users } from '../../db/schema/accounts.ts';
import { discordMembers } from '../../db/schema/discord.ts';
import { penalties } from '../../db/schema/penalties.ts';
import { arrayLiteral, selectFrom } from '../../db/select.ts';
import {
  type FlagGrant,
  type RoleGrant,
  USER_FLAG_NAMES,
  USER_FLAGS,
  type UserFlag,
} from '../../domain/rights/user-flags.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { activeBanOf } from '../penalties/filter.ts';
import { lockFlags, saveFlagRound } from './user-flags.ts';

/** Somebody whose roles on Discord have to be read or changed. */
export type DueMember = {
  discordId: string;
  /** Undefined when they are no longer linked: their roles are only taken. */
  steamId64: SteamId64 | undefined;
  /** The roles that they should have, of those that can be given. */
  wanted: string[];
  /** As stored: the roles that they should have had the last time, also those that can no longer be given. */
  roles: string[];
};

/** Somebody linked whose roles were read. */
type ReadMember = {
  discordId: string;
  steamId64: SteamId64;
  /** The flags that their roles give. */
  grants: readonly FlagGrant<SteamId64>[];
  /** The roles that they should have from now on. */
  roles: string[];
  /** Null when roles have yet to be given or taken: they stay due until {@link saveMemberRoles}. */
  readAt: Date | null;
};

type DueOptions = {
  /** The roles that can be given. */
  gives: readonly RoleGrant[];
  /** Everybody whose roles were last read before has them read again. */
  readBefore: Date;
  /** Discord ids of people whose roles are known from an interaction; only linked ones are due. */
  seen: readonly string[];
  now: Date;
  limit: number;
};

/**
 * Linked members whose roles have to be read, or no longer fit their flags and bans, and people who are no longer linked
 * but still have roles that were given to them. New links and changes come first.
 */
export async function listDueMembers(
  db: Db,
  { gives, readBefore, seen, now, limit }: DueOptions,
): Promise<DueMember[]> {
  const rows = await selectFrom(db)('due_discord_members', buildDueMembers, {
    facts: arrayLiteral(gives.map(({ fact }) => fact)),
    roles: arrayLiteral(gives.map(({ roleId }) => roleId)),
    readBefore: readBefore.toISOString(),
    seen: arrayLiteral(seen),
    now: now.toISOString(),
    limit,
  });
  return rows.map(([discordId, steamId64, wanted, roles]) => ({
    discordId: String(discordId),
    steamId64: steamId64 === null ? undefined : (String(steamId64) as SteamId64),
    wanted: splitIds(wanted),
    roles: splitIds(roles),
  }));
}

function buildDueMembers() {
  const isLinked = sql`${users.discordId} is not null`;
  const roles = sql`${sql.placeholder('roles')}::bigint[]`;
  const isGiven = (flag: UserFlag) => sql`when ${sql.raw(`'${flag}'`)} then ${users[USER_FLAGS[flag]]}`;
  return sql`
    select coalesce(${discordMembers.discordId}, ${users.discordId}), ${users.steamId64},
      array_to_string(wanted, ','), array_to_string(${discordMembers.roles}, ',')
    from (select * from ${users} where ${isLinked}) as ${users}
    full join ${discordMembers} on ${discordMembers.discordId} = ${users.discordId}
    cross join lateral (select
      array(select distinct role_id from unnest(${sql.placeholder('facts')}::text[], ${roles}) as gives (fact, role_id)
        where ${isLinked} and case fact
          when 'linked' then true
          when 'is_banned' then exists (select from ${penalties} where ${activeBanOf(users.steamId64)})
          ${sql.join(USER_FLAG_NAMES.map(isGiven), sql` `)}
        end order by role_id) as wanted,
      array(select unnest(${discordMembers.roles}) intersect select unnest(${roles}) order by 1) as had
    ) as compared
    where wanted <> had or (${isLinked} and (
      ${discordMembers.readAt} is null
      or ${discordMembers.readAt} < ${sql.placeholder('readBefore')}::timestamptz
      or ${users.discordId} = any(${sql.placeholder('seen')}::bigint[])))
    order by wanted = had and ${discordMembers.readAt} is not null, ${discordMembers.readAt}
    limit ${sql.placeholder('limit')}::integer`;
}

/** Ids as `array_to_string` joins them. */
function splitIds(joined: unknown): string[] {
  return joined ? String(joined).split(',') : [];
}

/** Saves what was read about a linked member. @returns false when they are no longer linked to the account. */
export async function saveMember(db: Db, member: ReadMember, now: Date): Promise<boolean> {
  const { discordId, steamId64, grants, roles, readAt } = member;
  return db.transaction(async (tx) => {
    await lockFlags(tx);
    const linkedUsers = await tx
      .select({ id: users.id })
      .from(users)
      .where(and(eq(users.steamId64, steamId64), eq(users.discordId, discordId)))
      .for('no key update');
    if (linkedUsers.length === 0) return false;
    await tx
      .insert(discordMembers)
      .values({ discordId, roles, readAt })
      .onConflictDoUpdate({ target: discordMembers.discordId, set: { roles, readAt } });
    await saveFlagRound(tx, 'discord', { grants, among: [steamId64], now });
    return true;
  });
}

/** Saves that roles were given and taken. Does nothing when the account was linked anew since. */
export async function saveMemberRoles(
  db: Db,
  discordId: string,
  { roles, readAt }: { roles: string[]; readAt: Date },
): Promise<void> {
  await db
    .update(discordMembers)
    .set({ roles, readAt })
    .where(sql`${discordMembers.discordId} = ${discordId}`);
}

/**
 * Forgets people who are no longer linked and have none of these roles.
 * @param gives undefined when no roles are configured: then everybody is forgotten.
 */
export async function forgetMembers(db: Db, gives: readonly RoleGrant[] | undefined): Promise<void> {
  const roles = arrayLiteral(gives?.map(({ roleId }) => roleId) ?? []);
  const isLinked = sql`exists (select from ${users} where ${users.discordId} = ${discordMembers.discordId})`;
  await db
    .delete(discordMembers)
    .where(gives && sql`not (${discordMembers.roles} && ${roles}::bigint[]) and not ${isLinked}`);
}
