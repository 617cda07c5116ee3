import { RateLimitError, type REST } from '@discordjs/rest';
import { type APIGuildMember, RESTJSONErrorCodes, Routes } from 'discord.js';
import { isDiscordError, isDiscordRefusal } from '../gateway/rest.ts';

/** What Discord says about a member's roles; `premium_since` is set for those who boost the guild. */
export type MemberState = Pick<APIGuildMember, 'roles' | 'premium_since'>;

type Place = { guildId: string; discordId: string; signal: AbortSignal };

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
export async function readMember(rest: REST, place: Place): Promise<MemberState | undefined> {
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
export async function changeRole(
  rest: REST,
  { guildId, discordId, signal }: Place,
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
