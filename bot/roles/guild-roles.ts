import type { REST } from '@discordjs/rest';
import { type APIRole, PermissionFlagsBits, Routes } from 'discord.js';
import { Unavailable } from '../../src/domain/errors.ts';
import { BOOST, type FlagMapping, type RoleGrant } from '../../src/domain/rights/user-flags.ts';
import { readMember } from './member-requests.ts';

/** The configured roles, compared with those of the guild. */
export type GuildRoles = {
  /** What the bot can give. */
  gives: RoleGrant[];
  /** What it lacks to give the others, and roles that do not exist; for the operator. */
  missing: string[];
};

/**
 * Asks Discord which of the configured roles exist, and which the bot can give: it needs Manage Roles, and they have to be
 * below its own highest role.
 * @param guild.botId the bot's own user id.
 * @throws {Unavailable} for a response of another form · what the REST client throws.
 * @see https://docs.discord.com/developers/topics/permissions#permission-hierarchy
 */
export async function readGuildRoles(
  rest: REST,
  { guildId, botId, signal }: { guildId: string; botId: string; signal: AbortSignal },
  { flags, gives }: { flags: FlagMapping; gives: readonly RoleGrant[] },
): Promise<GuildRoles> {
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
