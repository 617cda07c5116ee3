import { RateLimitError } from '@discordjs/rest';
import type { APIGuildMember } from 'discord.js';
import { Unavailable } from '../../src/domain/errors.ts';
import {
  BOOST,
  type FlagMapping,
  mapPermissions,
  type RoleGrant,
  type UserFlag,
} from '../../src/domain/rights/user-flags.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { createRounds, type MirrorMetrics, type RoundsHealth } from '../../src/import/rounds.ts';
import {
  countMemberProblems,
  type DueMember,
  findDueMember,
  findLinkedMember,
  finishMember,
  forgetMember,
  markMembersWithOtherRoles,
  markPlayers,
  moveToEnd,
  postponeMember,
  saveMember,
} from '../../src/queries/discord/members.ts';
import { backoffMs } from '../../src/runtime/backoff.ts';
import type { BotContext } from '../context.ts';
import {
  changeRoles,
  createGuildRoles,
  MemberProblem,
  type MemberState,
  type RoleChanges,
  readMember,
} from './guild.ts';
import { createSweep } from './sweep.ts';

export type MemberRoles = {
  /** Keeps roles and flags up to date until the signal aborts. @param botId the bot's own user id. */
  run: (botId: string, signal: AbortSignal) => Promise<void>;
  /** Remembers the roles of somebody who sent an interaction. */
  observe: (
    guildId: string,
    discordId: string,
    member: Pick<APIGuildMember, 'roles' | 'premium_since'>,
  ) => void;
  /** Called when links, flags or penalties have changed. @param players those whose penalties have. */
  wake: (players?: readonly SteamId64[]) => void;
  health: () => RoundsHealth & {
    /** What the bot lacks to give the configured roles; undefined when it lacks nothing. */
    missing: string[] | undefined;
    /** How many members have which problem; undefined when nobody has one. */
    problems: Record<string, number> | undefined;
  };
};

type Deps = Pick<BotContext, 'db' | 'rest' | 'log' | 'now' | 'timings'> & { mirrorMetrics: MirrorMetrics };

type Settings = {
  /** `DISCORD_GUILD_ID` */
  guildId: string;
  /** Roles that give flags; `[]`: none. */
  flags: FlagMapping;
  /** Roles that follow facts; `[]`: none. */
  gives: readonly RoleGrant[];
};

/** Wake-ups within this time cause one round. */
const DEBOUNCE_MS = 250;
/** If penalties of more players have changed, all members are compared. */
const MAX_CHANGED_PLAYERS = 5000;
/** The pauses after failures that are about one member. */
const MEMBER_BACKOFF = { firstMs: 10_000, maxMs: 3_600_000 };
/** The longest pause of the worker, unless Discord names another. */
const MAX_BACKOFF_MS = 60_000;
/** After so many members in a row without a usable response, the fault is Discord's, not theirs. */
const MAX_UNUSABLE = 3;

/**
 * Gives flags by the roles that linked members have in the guild, and gives them roles by their flags, bans and link. One
 * worker takes the member who has been due the longest. Everybody is due once in each `roleSweepMs`, at a time that depends
 * on their id, and at once when their link, flags or bans change. A failure about one member postpones that member; one
 * about the guild, the token or Discord pauses the worker. Roles that came with interactions are saved without a request.
 * People who were never linked are not touched.
 */
export function createMemberRoles(
  { db, rest, log, now, mirrorMetrics, timings }: Deps,
  { guildId, flags: mapping, gives }: Settings,
): MemberRoles {
  /** By Discord id: roles that came with interactions, until they are saved. */
  const observed = new Map<string, { state: MemberState; at: Date }>();
  const { roleIntervalMs: intervalMs, roleSweepMs: sweepMs } = timings;
  let botId = '';
  const place = { guildId, botId: () => botId };
  const guild = createGuildRoles({ rest, log, timings }, place, { flags: mapping, gives });
  const sweep = createSweep({ db, now, timings }, { guildId, mapping });
  /** Players whose penalties have changed. */
  const changedPlayers = new Set<SteamId64>();
  /** Whether anybody may have changed. */
  let comparesAll = true;
  let problems: Record<string, number> = {};
  /** Members in a row without a usable response, each once. */
  const unusable = new Set<string>();
  /** Failed rounds since a member was last updated. */
  let pauses = 0;
  let pausedUntil: Date | undefined;

  const rounds = createRounds(
    { db, log, metrics: mirrorMetrics, now },
    {
      system: 'discord',
      name: 'Discord roles',
      intervalSeconds: intervalMs / 1000,
      debounceMs: Math.min(DEBOUNCE_MS, intervalMs),
      isPaused: () => pausedUntil !== undefined && pausedUntil > now(),
      run: runRound,
    },
  );

  const grants = () => ({ gives: guild.gives(), now: now() });

  async function runRound(signal: AbortSignal): Promise<void> {
    try {
      if (await guild.refresh(signal)) comparesAll = true;
      await sweep.check();
      await markChanged();
      // So that success is reported while there is more to do.
      const untilMs = performance.now() + intervalMs;
      let isMore = true;
      while (isMore && performance.now() < untilMs) {
        signal.throwIfAborted();
        isMore = await updateNext(signal);
      }
      if (isMore) rounds.wake();
      await sweep.endIfDone();
      await compareProblems();
      pauses = 0;
    } catch (error) {
      pauses += 1;
      const pauseMs =
        error instanceof RateLimitError
          ? error.retryAfter
          : backoffMs(pauses, { firstMs: intervalMs, maxMs: MAX_BACKOFF_MS });
      pausedUntil = new Date(now().getTime() + pauseMs);
      throw error;
    }
  }

  /** Makes members due whose bans, links or flags have changed. */
  async function markChanged(): Promise<void> {
    const players = [...changedPlayers];
    changedPlayers.clear();
    if (players.length > MAX_CHANGED_PLAYERS) comparesAll = true;
    const isAll = comparesAll;
    comparesAll = false;
    try {
      if (isAll) await markMembersWithOtherRoles(db, grants());
      else if (players.length > 0) await markPlayers(db, players, grants());
    } catch (error) {
      comparesAll = true;
      throw error;
    }
  }

  /** @returns false when nobody is due. */
  async function updateNext(signal: AbortSignal): Promise<boolean> {
    const member = (await findObserved()) ?? (await findDueMember(db, grants()));
    if (!member) return false;
    try {
      await update(member, signal);
      unusable.clear();
      pauses = 0;
    } catch (error) {
      if (error instanceof MemberProblem) await postpone(member, error);
      else {
        // Behind the others, in case the failure is about this member after all.
        if (!signal.aborted) await moveToEnd(db, member, now());
        throw error;
      }
    }
    return true;
  }

  /** A member whose roles came with an interaction. Others who sent interactions are not linked. */
  async function findObserved(): Promise<DueMember | undefined> {
    for (const discordId of observed.keys()) {
      const member = await findLinkedMember(db, discordId, grants());
      if (member) return member;
      observed.delete(discordId);
    }
    return undefined;
  }

  async function postpone(member: DueMember, problem: MemberProblem): Promise<void> {
    if (!problem.isRefusal) unusable.add(member.discordId);
    if (unusable.size >= MAX_UNUSABLE) {
      unusable.clear();
      await moveToEnd(db, member, now());
      const message = `Discord gave no usable response for ${MAX_UNUSABLE} members in a row`;
      throw new Unavailable(message, { cause: problem });
    }
    const failures = member.failures + 1;
    const nextAt = new Date(now().getTime() + backoffMs(failures, MEMBER_BACKOFF));
    await postponeMember(db, member, { failures, problem: problem.message, nextAt });
  }

  /** Reads somebody's roles, saves what follows from them, and then gives and takes roles. */
  async function update(member: DueMember, signal: AbortSignal): Promise<void> {
    const { discordId, steamId64, wanted, roles } = member;
    const place = { guildId, discordId, signal };
    const others = roles.filter((id) => !guild.isGivable(id));
    if (steamId64 === undefined) {
      await changeRoles(rest, place, { give: [], take: roles.filter(guild.isGivable) });
      // Roles that cannot be removed now are removed later.
      if (others.some((id) => gives.some(({ roleId }) => roleId === id))) await finish(member, others);
      else await forgetMember(db, discordId);
      return;
    }
    const observation = observed.get(discordId);
    const readAt = observation?.at ?? now();
    const state = observation ? observation.state : await readMember(rest, place);
    const flags = flagsOf(state, mapping);
    // Roles for the flags that are saved below: `wanted` may not include them yet.
    const byFlags = guild.gives().filter(({ fact }) => flags.some((flag) => flag === fact));
    const wantedRoles = [...new Set([...wanted, ...byFlags.map(({ roleId }) => roleId)])];
    const changes = compareRoles(wantedRoles, state);
    // Stored before they are given, so that unlinking takes them even if this process dies in between.
    const read = {
      discordId,
      steamId64,
      dueAt: member.dueAt,
      flags,
      readAt,
      roles: [...new Set([...wantedRoles, ...roles])],
    };
    const isUnchanged =
      changes.give.length === 0 &&
      Bun.deepEquals(member.flags, flags) &&
      Bun.deepEquals(member.givenFlags.toSorted(), flags.toSorted());
    const isSaved =
      isUnchanged || (await saveMember(db, { ...read, losesFlags: observation !== undefined }, now()));
    if (observed.get(discordId) === observation) observed.delete(discordId);
    if (!isSaved) return;
    await changeRoles(rest, place, changes);
    // Those that the bot cannot change now stay stored, to be removed later.
    await finish(member, [...wantedRoles.filter(guild.isGivable), ...others]);
  }

  async function finish(member: DueMember, roles: string[]): Promise<void> {
    await finishMember(db, member, { roles, nextAt: nextTurnOf(member.discordId) });
  }

  /** Derived from the id, so that requests are spread over the hour. */
  function nextTurnOf(discordId: string): Date {
    const nowMs = now().getTime();
    const turnMs = Number(BigInt(discordId) % BigInt(sweepMs));
    return new Date(nowMs + sweepMs - ((((nowMs - turnMs) % sweepMs) + sweepMs) % sweepMs));
  }

  function compareRoles(wantedRoles: readonly string[], state: MemberState | undefined): RoleChanges {
    if (!state) return { give: [], take: [] };
    const { roles } = state;
    const given = new Set(guild.gives().map(({ roleId }) => roleId));
    return {
      give: wantedRoles.filter((id) => given.has(id) && !roles.includes(id)),
      take: [...given].filter((id) => !wantedRoles.includes(id) && roles.includes(id)),
    };
  }

  async function compareProblems(): Promise<void> {
    const before = problems;
    problems = await countMemberProblems(db);
    const isNew = Object.keys(problems).some((problem) => !Object.hasOwn(before, problem));
    if (isNew) log.warn({ problems }, "some members' Discord roles failed: retrying");
  }

  return {
    run: (id, signal) => {
      botId = id;
      return rounds.lead(signal);
    },
    observe: (id, discordId, member) => {
      if (id === guildId) observed.set(discordId, { state: member, at: now() });
    },
    wake: (players = []) => {
      for (const player of players) changedPlayers.add(player);
      rounds.wake();
    },
    health: () => ({
      ...rounds.health(),
      missing: guild.missing().length > 0 ? guild.missing() : undefined,
      problems: Object.keys(problems).length > 0 ? problems : undefined,
    }),
  };
}

function flagsOf(state: MemberState | undefined, mapping: FlagMapping): UserFlag[] {
  const permissions = new Set([...(state?.roles ?? []), ...(state?.premium_since ? [BOOST] : [])]);
  return mapPermissions(mapping, '', { permissions, endsAt: null }).map(({ flag }) => flag);
}
