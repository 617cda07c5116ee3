import type { REST } from '@discordjs/rest';
import {
  type APIGuildMember,
  type APIRole,
  PermissionFlagsBits,
  type RESTGetAPIGuildMemberResult,
  RESTJSONErrorCodes,
  Routes,
} from 'discord.js';
import {
  BOOST,
  type FlagMapping,
  mapPermissions,
  type RoleGrant,
} from '../../src/domain/rights/user-flags.ts';
import { createRounds, type MirrorMetrics, type RoundsHealth } from '../../src/import/rounds.ts';
import {
  type DueMember,
  forgetMembers,
  listDueMembers,
  saveMember,
  saveMemberRoles,
} from '../../src/queries/users/discord-members.ts';
import type { BotParts } from '../parts.ts';
import { isDiscordError, isDiscordRefusal } from '../rest.ts';

/** What Discord says about a member's roles; `premium_since` is set for those who boost the guild. */
type MemberState = Pick<APIGuildMember, 'roles' | 'premium_since'>;

export type MemberRoles = {
  /** Keeps roles and flags up to date until the signal aborts. @param botId the bot's own user id. */
  run: (botId: string, signal: AbortSignal) => Promise<void>;
  /** Whoever sent an interaction, with their roles. */
  note: (guildId: string, discordId: string, member: MemberState) => void;
  /** Called when links or flags have changed. */
  wake: () => void;
  /** `missing`: what the bot lacks to give the configured roles; undefined when it lacks nothing. */
  health: () => RoundsHealth & { missing: string[] | undefined };
};

type Deps = Pick<BotParts, 'db' | 'rest' | 'log' | 'now' | 'timings'> & { mirrorMetrics: MirrorMetrics };

type Settings = {
  /** `DISCORD_GUILD_ID` */
  guildId: string;
  /** Roles that give flags; `[]`: none. */
  flags: FlagMapping;
  /** Roles that follow facts; `[]`: none. */
  gives: readonly RoleGrant[];
};

/** Wake-ups within this time cause one round. */
const GATHER_MS = 1000;
/** How many people are listed at once. */
const MAX_LISTED = 500;

/**
 * Gives flags by the roles that linked members have in the guild, and gives them roles by their flags, bans and link.
 * One loop does both, one member after the other: it reads the roles of everybody at the start and then once
 * every `roleSweepMs`, and those of new links and of changed people at once. Roles that came with interactions are saved in
 * the next round, without a request. People who were never linked are not touched.
 */
export function createMemberRoles(
  { db, rest, log, now, mirrorMetrics, timings }: Deps,
  { guildId, flags, gives }: Settings,
): MemberRoles {
  /** By Discord id: roles that interactions told, until they are saved. */
  const notes = new Map<string, { state: MemberState; at: Date }>();
  const { roleIntervalMs: intervalMs, roleSweepMs: sweepMs } = timings;
  const startedAt = now();
  let botId = '';
  let guild: GuildRoles = { gives: [], missing: [] };
  /** Of the round under way. */
  let refusal: Error | undefined;

  const rounds = createRounds(
    { db, log, metrics: mirrorMetrics, now },
    {
      system: 'discord',
      name: 'roles of Discord',
      intervalSeconds: intervalMs / 1000,
      gatherMs: Math.min(GATHER_MS, intervalMs),
      run: runRound,
    },
  );

  async function runRound(signal: AbortSignal): Promise<void> {
    refusal = undefined;
    await checkGuild(signal);
    let dueMembers: DueMember[];
    do {
      const sweptAt = new Date(now().getTime() - sweepMs);
      const notedIds = [...notes.keys()];
      dueMembers = await listDueMembers(db, {
        gives: guild.gives,
        readBefore: sweptAt > startedAt ? sweptAt : startedAt,
        seen: notedIds,
        now: now(),
        limit: MAX_LISTED,
      });
      // Others who sent interactions are not linked.
      const dueIds = new Set(dueMembers.map(({ discordId }) => discordId));
      if (dueMembers.length < MAX_LISTED) for (const id of notedIds) if (!dueIds.has(id)) notes.delete(id);
      // New links and changes, of which bans come and end without a notification, do not wait for a long sweep.
      const listAgainMs = performance.now() + intervalMs;
      for (const member of dueMembers) {
        signal.throwIfAborted();
        if (performance.now() < listAgainMs) await update(member, signal);
      }
    } while (dueMembers.length > 0);
    await forgetMembers(db, gives);
    if (refusal) throw refusal;
  }

  async function checkGuild(signal: AbortSignal): Promise<void> {
    const before = guild.missing;
    guild = await readGuildRoles(rest, { guildId, botId, signal }, { flags, gives });
    const { missing } = guild;
    if (missing.join() === before.join()) return;
    if (missing.length === 0) log.info('nothing is missing any more for the configured roles of Discord');
    else log.warn({ missing }, 'some of the configured roles of Discord do nothing');
  }

  /** Reads somebody's roles, saves what follows from them, and then gives and takes roles. */
  async function update(
    { discordId, steamId64, wanted, roles }: DueMember,
    signal: AbortSignal,
  ): Promise<void> {
    const others = () => roles.filter((id) => !isGivable(id));
    if (steamId64 === undefined) {
      await changeRoles(discordId, { give: [], take: roles.filter(isGivable) }, signal);
      return saveMemberRoles(db, discordId, { roles: others(), readAt: now() });
    }
    const note = notes.get(discordId);
    const readAt = note?.at ?? now();
    const state = note ? note.state : await findMember(discordId, signal);
    const grants = mapPermissions(flags, steamId64, { permissions: permissionsOf(state), endsAt: null });
    // Roles for the flags that are saved below: `wanted` may not include them yet.
    const byFlags = guild.gives.filter(({ fact }) => grants.some(({ flag }) => flag === fact));
    const wantedRoles = [...new Set([...wanted, ...byFlags.map(({ roleId }) => roleId)])];
    const changes = compareRoles(wantedRoles, state);
    const isDone = changes.give.length + changes.take.length === 0;
    /** The roles to store after the changes; those that the bot cannot change now stay stored, to be taken later. */
    const rolesAfter = () => [...wantedRoles.filter(isGivable), ...others()];
    const member = {
      discordId,
      steamId64,
      grants,
      // Stored before they are given, so that unlinking takes them even if this process dies in between.
      roles: isDone ? rolesAfter() : [...new Set([...wantedRoles, ...roles])],
      readAt: isDone ? readAt : null,
    };
    const isSaved = await saveMember(db, member, now());
    if (notes.get(discordId) === note) notes.delete(discordId);
    if (isDone || !isSaved) return;
    await changeRoles(discordId, changes, signal);
    await saveMemberRoles(db, discordId, { roles: rolesAfter(), readAt });
  }

  /** @returns undefined for somebody who is not in the guild. */
  async function findMember(discordId: string, signal: AbortSignal): Promise<MemberState | undefined> {
    try {
      return (await rest.get(Routes.guildMember(guildId, discordId), { signal })) as MemberState;
    } catch (error) {
      if (isNoMember(error)) return undefined;
      throw error;
    }
  }

  function compareRoles(wantedRoles: readonly string[], state: MemberState | undefined): RoleChanges {
    if (!state) return { give: [], take: [] };
    const { roles } = state;
    const unwanted = guild.gives.map(({ roleId }) => roleId).filter((id) => !wantedRoles.includes(id));
    return {
      give: wantedRoles.filter((id) => isGivable(id) && !roles.includes(id)),
      take: [...new Set(unwanted)].filter((id) => roles.includes(id)),
    };
  }

  /** A refusal is thrown once the round has done everything else. */
  async function changeRoles(
    discordId: string,
    { give, take }: RoleChanges,
    signal: AbortSignal,
  ): Promise<void> {
    for (const roleId of [...take, ...give]) {
      const route = Routes.guildMemberRole(guildId, discordId, roleId);
      try {
        await (give.includes(roleId) ? rest.put(route, { signal }) : rest.delete(route, { signal }));
      } catch (error) {
        if (isNoMember(error)) return;
        if (!isDiscordRefusal(error) || error.status >= 500) throw error;
        refusal ??= error;
        guild.gives = guild.gives.filter((each) => each.roleId !== roleId);
      }
    }
  }

  function isGivable(roleId: string): boolean {
    return guild.gives.some((each) => each.roleId === roleId);
  }

  return {
    run: (id, signal) => {
      botId = id;
      return rounds.lead(signal);
    },
    note: (id, discordId, member) => {
      if (id === guildId) notes.set(discordId, { state: member, at: now() });
    },
    wake: rounds.wake,
    health: () => ({ ...rounds.health(), missing: guild.missing.length > 0 ? guild.missing : undefined }),
  };
}

/** The configured roles, compared with those of the guild. */
type GuildRoles = {
  /** What the bot can give. */
  gives: RoleGrant[];
  /** What it lacks to give the others, and roles that do not exist; for the operator. */
  missing: string[];
};

type RoleChanges = { give: readonly string[]; take: readonly string[] };

function permissionsOf(state: MemberState | undefined): Set<string> {
  return new Set([...(state?.roles ?? []), ...(state?.premium_since ? [BOOST] : [])]);
}

/** Whether Discord says that somebody is not in the guild, or rejects a linked id altogether. */
function isNoMember(error: unknown): boolean {
  return (
    isDiscordError(error, RESTJSONErrorCodes.UnknownMember, RESTJSONErrorCodes.UnknownUser) ||
    (isDiscordRefusal(error) && error.status === 400)
  );
}

/**
 * Asks Discord which of the configured roles exist, and which the bot can give: it needs Manage Roles, and they have to be
 * below its own highest role.
 * @param guild.botId the bot's own user id.
 * @throws what the REST client throws.
 * @see https://docs.discord.com/developers/topics/permissions#permission-hierarchy
 */
async function readGuildRoles(
  rest: REST,
  { guildId, botId, signal }: { guildId: string; botId: string; signal: AbortSignal },
  { flags, gives }: { flags: FlagMapping; gives: readonly RoleGrant[] },
): Promise<GuildRoles> {
  const roles = (await rest.get(Routes.guildRoles(guildId), { signal })) as APIRole[];
  const bot = (await rest.get(Routes.guildMember(guildId, botId), { signal })) as RESTGetAPIGuildMemberResult;
  const botRoles = roles.filter(({ id }) => id === guildId || bot.roles.includes(id));
  const permissions = botRoles.reduce((bits, role) => bits | BigInt(role.permissions), 0n);
  const [highest] = botRoles.toSorted((one, other) => compareRank(other, one));
  const problems = new Set<string>();

  function canGive(roleId: string): boolean {
    const role = roles.find(({ id }) => id === roleId);
    if (!role) problems.add(`role ${roleId} does not exist`);
    else if (role.managed || roleId === guildId) problems.add(`role ${roleId} cannot be given by bots`);
    else if (!highest || compareRank(role, highest) >= 0) {
      problems.add(`role ${roleId} is not below the highest role of the bot`);
    } else return true;
    return false;
  }

  const givable = gives.filter(({ roleId }) => canGive(roleId));
  for (const id of flags.flatMap((flag) => flag.permissions)) {
    if (id !== BOOST && !roles.some((role) => role.id === id)) problems.add(`role ${id} does not exist`);
  }
  const { Administrator, ManageRoles } = PermissionFlagsBits;
  const mayManage = (permissions & (Administrator | ManageRoles)) !== 0n;
  if (gives.length > 0 && !mayManage) problems.add('the bot lacks the permission Manage Roles');
  return { gives: mayManage ? givable : [], missing: [...problems] };
}

/** Of two roles at one position, the older one is higher. */
function compareRank(one: APIRole, other: APIRole): number {
  return one.position - other.position || (BigInt(one.id) < BigInt(other.id) ? 1 : -1);
}
