import type { REST } from '@discordjs/rest';
import { type APIRole, PermissionFlagsBits, type RESTGetAPIGuildMemberResult, Routes } from 'discord.js';
import { BOOST, type FlagMapping, type RoleGrant } from '../../src/domain/rights/user-flags.ts';

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
 * @throws what the REST client throws.
 * @see https://docs.discord.com/developers/topics/permissions#permission-hierarchy
 */
export async function readGuildRoles(
  rest: REST,
  { guildId, botId, signal }: { guildId: string; botId: string; signal: AbortSignal },
  { flags, gives }: { flags: FlagMapping; gives: readonly RoleGrant[] },
): Promise<GuildRoles> {
  const roles = (await rest.get(Routes.guildRoles(guildId), { signal })) as APIRole[];
  const bot = (await rest.get(Routes.guildMember(guildId, botId), { signal })) as RESTGetAPIGuildMemberResult;
  const own = roles.filter(({ id }) => id === guildId || bot.roles.includes(id));
  const permissions = own.reduce((bits, role) => bits | BigInt(role.permissions), 0n);
  const [highest] = own.toSorted((one, other) => compareRank(other, one));
  const missing = new Set<string>();

  function canGive(roleId: string): boolean {
    const role = roles.find(({ id }) => id === roleId);
    if (!role) missing.add(`role ${roleId} does not exist`);
    else if (role.managed || roleId === guildId) missing.add(`role ${roleId} cannot be given by bots`);
    else if (!highest || compareRank(role, highest) >= 0) {
      missing.add(`role ${roleId} is not below the highest role of the bot`);
    } else return true;
    return false;
  }

  const givable = gives.filter(({ roleId }) => canGive(roleId));
  for (const id of flags.flatMap((flag) => flag.permissions)) {
    if (id !== BOOST && !roles.some((role) => role.id === id)) missing.add(`role ${id} does not exist`);
  }
  const { Administrator, ManageRoles } = PermissionFlagsBits;
  const mayManage = (permissions & (Administrator | ManageRoles)) !== 0n;
  if (gives.length > 0 && !mayManage) missing.add('the bot lacks the permission Manage Roles');
  return { gives: mayManage ? givable : [], missing: [...missing] };
}

/** Of two roles at one position, the older one is higher. */
function compareRank(one: APIRole, other: APIRole): number {
  return one.position - other.position || (BigInt(one.id) < BigInt(other.id) ? 1 : -1);
}
