import { RateLimitError, type REST } from '@discordjs/rest';
import {
  type APIGuildMember,
  type APIRole,
  PermissionFlagsBits,
  RESTJSONErrorCodes,
  Routes,
} from 'discord.js';
import { Unavailable } from '../../src/domain/errors.ts';
import { BOOST, type FlagMapping, type RoleGrant } from '../../src/domain/rights/user-flags.ts';
import type { BotContext } from '../context.ts';
import { isDiscordError, isDiscordRefusal } from '../gateway/rest.ts';

/** The configured roles, compared with those of the guild. */
type GuildRoles = {
  /** Reads the guild's roles, unless that was done lately. @returns whether other roles can be given than before. */
  refresh: (signal: AbortSignal) => Promise<boolean>;
  /** What the bot can give. */
  gives: () => readonly RoleGrant[];
  isGivable: (roleId: string) => boolean;
  /** What it lacks to give the others, and roles that do not exist; for the operator. */
  missing: () => string[];
};

/** How many intervals pass between two reads of the guild's roles. */
const GUILD_INTERVALS = 6;

/** @param guild.botId the bot's own user id, once it is known. */
export function createGuildRoles(
  { rest, log, timings }: Pick<BotContext, 'rest' | 'log' | 'timings'>,
  { guildId, botId }: { guildId: string; botId: () => string },
  configured: { flags: FlagMapping; gives: readonly RoleGrant[] },
): GuildRoles {
  let roles: ComparedRoles = { gives: [], missing: [] };
  let readAtMs = Number.NEGATIVE_INFINITY;
  return {
    refresh: async (signal) => {
      if (performance.now() - readAtMs < GUILD_INTERVALS * timings.roleIntervalMs) return false;
      const before = roles;
      roles = await readGuildRoles(rest, { guildId, botId: botId(), signal }, configured);
      readAtMs = performance.now();
      const { missing } = roles;
      if (missing.join() !== before.missing.join()) {
        if (missing.length === 0) log.info('all configured Discord roles work now');
        else log.warn({ missing }, 'some configured Discord roles do not work');
      }
      return !Bun.deepEquals(roles.gives, before.gives);
    },
    gives: () => roles.gives,
    isGivable: (roleId) => roles.gives.some((each) => each.roleId === roleId),
    missing: () => roles.missing,
  };
}

type ComparedRoles = { gives: RoleGrant[]; missing: string[] };

/**
 * Asks Discord which of the configured roles exist, and which the bot can give: it needs Manage Roles, and they have to be
 * below its own highest role.
 * @param guild.botId the bot's own user id.
 * @throws {Unavailable} for a response of another form · what the REST client throws.
 * @see https://docs.discord.com/developers/topics/permissions#permission-hierarchy
 */
async function readGuildRoles(
  rest: REST,
  { guildId, botId, signal }: { guildId: string; botId: string; signal: AbortSignal },
  { flags, gives }: { flags: FlagMapping; gives: readonly RoleGrant[] },
): Promise<ComparedRoles> {
  const roles = toRoles(await rest.get(Routes.guildRoles(guildId), { signal }));
  const bot = await readMember(rest, { guildId, discordId: botId, signal });
  if (!bot) throw new Unavailable('the bot is not in the guild of DISCORD_GUILD_ID');
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

function toRoles(response: unknown): APIRole[] {
  if (!Array.isArray(response)) throw new Unavailable("Discord's response is not a list of roles");
  return response;
}

/** Of two roles at one position, the older one is higher. */
function compareRank(one: APIRole, other: APIRole): number {
  return one.position - other.position || (BigInt(one.id) < BigInt(other.id) ? 1 : -1);
}

/** What Discord says about a member's roles; `premium_since` is set for those who boost the guild. */
export type MemberState = Pick<APIGuildMember, 'roles' | 'premium_since'>;

type MemberPlace = { guildId: string; discordId: string; signal: AbortSignal };

/** A request about one member failed, and others may succeed. The message names nobody: members are counted by it. */
export class MemberProblem extends Error {
  override name = 'MemberProblem';
  constructor(
    message: string,
    /** Whether Discord refused this member, rather than sent something that would fail for everybody. */
    readonly isRefusal: boolean,
    options: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * Reads somebody's roles.
 * @returns undefined for somebody who is not in the guild.
 * @throws {MemberProblem} · what the REST client throws about the guild, the token or a limit.
 */
export async function readMember(rest: REST, place: MemberPlace): Promise<MemberState | undefined> {
  const { guildId, discordId, signal } = place;
  try {
    return toState(await rest.get(Routes.guildMember(guildId, discordId), { signal }), discordId);
  } catch (error) {
    if (isNoMember(error)) return undefined;
    throw toMemberProblem(error, { what: 'reading a member', isRefusal: false, signal });
  }
}

/**
 * Gives somebody a role, or takes it.
 * @returns false for somebody who is not in the guild.
 * @throws as {@link readMember}.
 */
async function changeRole(
  rest: REST,
  { guildId, discordId, signal }: MemberPlace,
  { roleId, isGiven }: { roleId: string; isGiven: boolean },
): Promise<boolean> {
  const route = Routes.guildMemberRole(guildId, discordId, roleId);
  const what = `${isGiven ? 'giving' : 'taking'} the role ${roleId}`;
  try {
    const response = await (isGiven ? rest.put(route, { signal }) : rest.delete(route, { signal }));
    // The REST client's result for 204.
    if (!(response instanceof ArrayBuffer && response.byteLength === 0)) throw new Error('not 204');
    return true;
  } catch (error) {
    if (isNoMember(error)) return false;
    const isRefusal = isDiscordRefusal(error) && error.status < 500;
    throw toMemberProblem(error, { what, isRefusal, signal });
  }
}

/** The roles to give to and to take from a member. */
export type RoleChanges = { give: readonly string[]; take: readonly string[] };

/**
 * Gives and takes roles; somebody who is not in the guild has none.
 * @throws {MemberProblem} the first, once the other roles are changed · what concerns everybody, at once.
 */
export async function changeRoles(
  rest: REST,
  place: MemberPlace,
  { give, take }: RoleChanges,
): Promise<void> {
  let problem: MemberProblem | undefined;
  for (const roleId of [...take, ...give]) {
    try {
      const isMember = await changeRole(rest, place, { roleId, isGiven: give.includes(roleId) });
      if (!isMember) return;
    } catch (error) {
      if (!(error instanceof MemberProblem)) throw error;
      problem ??= error;
    }
  }
  if (problem) throw problem;
}

/** @throws for any other response. */
function toState(response: unknown, discordId: string): MemberState {
  const member =
    typeof response === 'object' && response !== null ? (response as Partial<APIGuildMember>) : {};
  const { user, roles, premium_since: since } = member;
  const isMember =
    user?.id === discordId && Array.isArray(roles) && roles.every((role) => typeof role === 'string');
  if (!isMember) throw new Error('not a member');
  return { roles, premium_since: typeof since === 'string' ? since : null };
}

/** Whether Discord says that somebody is not in the guild, or does not exist. */
function isNoMember(error: unknown): boolean {
  if (isDiscordError(error, RESTJSONErrorCodes.UnknownMember, RESTJSONErrorCodes.UnknownUser)) return true;
  // A linked id that is no snowflake.
  if (!isDiscordError(error, RESTJSONErrorCodes.InvalidFormBodyOrContentType)) return false;
  const errors: unknown = 'errors' in error.rawError ? error.rawError.errors : undefined;
  return typeof errors === 'object' && errors !== null && 'user_id' in errors;
}

type Attempt = { what: string; isRefusal: boolean; signal: AbortSignal };

/** The problem of a member, or the error itself when it concerns everybody. */
function toMemberProblem(error: unknown, { what, isRefusal, signal }: Attempt): unknown {
  if (signal.aborted || error instanceof RateLimitError) return error;
  const isOfGuild =
    isDiscordError(error, RESTJSONErrorCodes.UnknownGuild) ||
    (isDiscordRefusal(error) && (error.status === 401 || (error.status === 403 && !isRefusal)));
  if (isOfGuild) return error;
  return new MemberProblem(`${what}: ${describe(error)}`, isRefusal, { cause: error });
}

function describe(error: unknown): string {
  const status = error instanceof Error && 'status' in error ? String(error.status) : undefined;
  if (status === undefined) return 'no usable response';
  return isDiscordRefusal(error) && error.code ? `${status} (${error.code})` : status;
}
