import type { REST } from '@discordjs/rest';
import { type APIGuildMember, RESTJSONErrorCodes, Routes } from 'discord.js';
import type { Logger } from 'pino';
import type { Db } from '../../src/db/client.ts';
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
  type ReadMember,
  saveMemberRoles,
  saveMembers,
} from '../../src/queries/users/discord-members.ts';
import { isDiscordError, isDiscordRefusal } from '../rest.ts';
import { type GuildRoles, readGuildRoles } from './guild-roles.ts';

/** What Discord says about a member's roles; `premium_since` is set for whoever boosts the guild. */
export type MemberState = Pick<APIGuildMember, 'roles' | 'premium_since'>;

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

type Deps = { db: Db; rest: REST; log: Logger; now: () => Date; metrics: MirrorMetrics };

type Settings = {
  /** `DISCORD_GUILD_ID` */
  guildId: string;
  /** Roles that give flags; `[]`: none. */
  flags: FlagMapping;
  /** Roles that follow facts; `[]`: none. */
  gives: readonly RoleGrant[];
  /** How often to look for changes without a notification, and to try again after a failure. */
  intervalMs: number;
  /** How often everybody's roles are read. */
  sweepMs: number;
};

/** Wake-ups within this time cause one round. */
const GATHER_MS = 1000;
/** How many people are listed at once, and how many are read before looking for new links, changes and interactions. */
const LISTED = 500;
const BATCH = 10;

/**
 * Gives flags by the roles that linked members have in the guild, and gives them the roles that follow what is true of
 * them here. One loop does both, one member after the other: it reads the roles of everybody at the start and then once
 * every `sweepMs`, and those of new links and of changed people at once. People who were never linked are left alone.
 */
export function createMemberRoles(
  { db, rest, log, now, metrics }: Deps,
  { guildId, flags, gives, intervalMs, sweepMs }: Settings,
): MemberRoles {
  /** By Discord id: roles that interactions told, until they are saved. */
  const seen = new Map<string, { state: MemberState; at: Date }>();
  const startedAt = now();
  let botId = '';
  let guild: GuildRoles = { gives: [], missing: [] };
  let checkedAt: Date | undefined;
  /** Whether there may be new links, changes or interactions since people were listed. */
  let hasNews = false;
  /** Of the round under way. */
  let refusal: Error | undefined;

  const rounds = createRounds(
    { log, metrics, now },
    {
      system: 'discord',
      name: 'roles of Discord',
      intervalSeconds: intervalMs / 1000,
      gatherMs: Math.min(GATHER_MS, intervalMs),
    },
    { run: runRound },
  );

  async function runRound(signal: AbortSignal): Promise<void> {
    refusal = undefined;
    if (!checkedAt || now().getTime() - checkedAt.getTime() >= intervalMs) await checkGuild(signal);
    do {
      hasNews = false;
      const sweptAt = new Date(now().getTime() - sweepMs);
      const noted = new Map(seen);
      const due = await listDueMembers(db, {
        gives: guild.gives,
        readBefore: sweptAt > startedAt ? sweptAt : startedAt,
        seen: [...noted.keys()],
        now: now(),
        limit: LISTED,
      });
      // Others who sent interactions are not linked.
      const isDue = new Set(due.map(({ discordId }) => discordId));
      if (due.length < LISTED) for (const id of noted.keys()) if (!isDue.has(id)) seen.delete(id);
      // Bans come and end without a notification.
      const listAgainMs = performance.now() + intervalMs;
      for (let first = 0; first < due.length; first += BATCH) {
        await update(due.slice(first, first + BATCH), signal);
        if (hasNews || performance.now() > listAgainMs) break;
      }
      hasNews ||= due.length > 0;
    } while (hasNews);
    await forgetMembers(db, gives);
    if (refusal) throw refusal;
  }

  async function checkGuild(signal: AbortSignal): Promise<void> {
    const before = guild.missing;
    guild = await readGuildRoles(rest, { guildId, botId, signal }, { flags, gives });
    checkedAt = now();
    const { missing } = guild;
    if (missing.join() === before.join()) return;
    if (missing.length === 0) log.info('nothing is missing any more for the configured roles of Discord');
    else log.warn({ missing }, 'some of the configured roles of Discord do nothing');
  }

  /** Reads the roles of some people, saves what follows from them, and then gives and takes roles. */
  async function update(due: readonly DueMember[], signal: AbortSignal): Promise<void> {
    const read: (ReadMember & {
      changes: RoleChanges;
      rolesAfter: () => string[];
      note: object | undefined;
    })[] = [];
    for (const member of due) {
      signal.throwIfAborted();
      const { discordId, steamId64, roles } = member;
      if (steamId64 === undefined) {
        await changeRoles(discordId, { give: [], take: roles.filter(isGivable) }, signal);
        await saveMemberRoles(db, discordId, { roles: roles.filter((id) => !isGivable(id)), readAt: now() });
        continue;
      }
      const note = seen.get(discordId);
      const isFresh = note !== undefined && now().getTime() - note.at.getTime() < intervalMs;
      const readAt = isFresh ? note.at : now();
      const state = isFresh ? note.state : await findMember(discordId, signal);
      const grants = mapPermissions(flags, steamId64, { permissions: permissionsOf(state), endsAt: null });
      // These flags are about to be saved, whether or not another source gives them already.
      const byFlags = guild.gives.filter(({ fact }) => grants.some(({ flag }) => flag === fact));
      const wanted = [...new Set([...member.wanted, ...byFlags.map(({ roleId }) => roleId)])];
      const changes = state ? compareRoles(wanted, state) : NO_CHANGES;
      const isDone = changes.give.length + changes.take.length === 0;
      read.push({
        discordId,
        steamId64,
        grants,
        // Whatever happens from now on, the given roles are taken when the account is unlinked.
        roles: isDone ? rolesAfter({ wanted, roles }) : [...new Set([...wanted, ...roles])],
        isDone,
        readAt,
        rolesAfter: () => rolesAfter({ wanted, roles }),
        changes,
        note,
      });
    }
    if (read.length === 0) return;
    const saved = await saveMembers(db, read, now());
    for (const { discordId, note } of read) if (seen.get(discordId) === note) seen.delete(discordId);
    for (const { discordId, isDone, changes, rolesAfter, readAt } of read) {
      if (isDone || !saved.has(discordId)) continue;
      await changeRoles(discordId, changes, signal);
      await saveMemberRoles(db, discordId, { roles: rolesAfter(), readAt });
    }
  }

  /** @returns undefined for whoever is not in the guild. */
  async function findMember(discordId: string, signal: AbortSignal): Promise<MemberState | undefined> {
    try {
      return (await rest.get(Routes.guildMember(guildId, discordId), { signal })) as MemberState;
    } catch (error) {
      if (isNoMember(error)) return undefined;
      throw error;
    }
  }

  function compareRoles(wanted: readonly string[], { roles }: MemberState): RoleChanges {
    const unwanted = guild.gives.map(({ roleId }) => roleId).filter((id) => !wanted.includes(id));
    return {
      give: wanted.filter((id) => isGivable(id) && !roles.includes(id)),
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

  /** What to remember once roles were given and taken; those that cannot be given now are still to be taken some day. */
  function rolesAfter({ wanted, roles }: Pick<DueMember, 'wanted' | 'roles'>): string[] {
    return [...wanted.filter(isGivable), ...roles.filter((id) => !isGivable(id))];
  }

  function wake(): void {
    hasNews = true;
    rounds.wake();
  }

  return {
    run: (id, signal) => {
      botId = id;
      return rounds.lead(signal);
    },
    note: (id, discordId, member) => {
      if (id !== guildId) return;
      seen.set(discordId, { state: member, at: now() });
      wake();
    },
    wake,
    health: () => ({ ...rounds.health(), missing: guild.missing.length > 0 ? guild.missing : undefined }),
  };
}

type RoleChanges = { give: readonly string[]; take: readonly string[] };
const NO_CHANGES: RoleChanges = { give: [], take: [] };

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
