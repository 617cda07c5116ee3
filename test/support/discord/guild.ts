import { PermissionFlagsBits, RESTJSONErrorCodes } from 'discord.js';
import { json, type RestCall, restError } from './rest-call.ts';

export type FakeMember = { roles: string[]; premium_since: string | null };

/** The role of the bot itself, with Manage Roles, below `ABOVE_BOT` and above all others. */
export const BOT_ROLE = '720000000000000050';
export const ABOVE_BOT = '720000000000000051';

/** The roles and members of a guild, and Discord's endpoints for them. */
export function createGuild({ guildId, botId }: { guildId: string; botId: string }) {
  const aRole = (id: string, position: number) => ({
    id,
    name: `role ${id}`,
    position,
    permissions: '0',
    managed: false,
  });
  const roles = new Map([aRole(guildId, 0), aRole(ABOVE_BOT, 51)].map((role) => [role.id, role]));
  const permissions = String(PermissionFlagsBits.ManageRoles);
  roles.set(BOT_ROLE, { ...aRole(BOT_ROLE, 50), permissions, managed: true });
  const members = new Map<string, FakeMember>([[botId, { roles: [BOT_ROLE], premium_since: null }]]);

  const deletedRoles = new Set<string>();

  function changeRole(method: string, userId: string, roleId: string): Response {
    const member = members.get(userId);
    const role = roles.get(roleId);
    const own = (members.get(botId)?.roles ?? []).flatMap((id) => roles.get(id) ?? []);
    const highest = Math.max(...own.map(({ position }) => position), 0);
    const mayManage = own.some(
      ({ permissions }) => (BigInt(permissions) & PermissionFlagsBits.ManageRoles) !== 0n,
    );
    if (!member) return restError(404, RESTJSONErrorCodes.UnknownMember);
    if (!role) return restError(404, RESTJSONErrorCodes.UnknownRole);
    if (!mayManage || role.position >= highest || role.managed || roleId === guildId)
      return restError(403, RESTJSONErrorCodes.MissingPermissions);
    member.roles = member.roles.filter((id) => id !== roleId);
    if (method === 'PUT') member.roles.push(roleId);
    return new Response(null, { status: 204 });
  }

  return {
    id: guildId,
    roles,
    members,
    /** Roles of channels' mentions that no longer exist. */
    deletedRoles,
    /** Adds ordinary roles below the bot's. */
    addRoles: (...ids: string[]) => {
      for (const id of ids) roles.set(id, aRole(id, 1));
    },
    /** Somebody joins, or their roles change. */
    setMember: (userId: string, roleIds: string[] = [], { boosts = false } = {}) => {
      members.set(userId, {
        roles: roleIds,
        premium_since: boosts ? '2026-01-01T00:00:00.000000+00:00' : null,
      });
    },
    rolesOf: (userId: string) => members.get(userId)?.roles.toSorted(),
    /** @returns undefined for another path than those of roles and members. */
    respond: ({ method, path }: RestCall): Response | undefined => {
      if (path === `/guilds/${guildId}/roles` && method === 'GET') return json(200, [...roles.values()]);
      const role = path.match(/^\/guilds\/\d+\/roles\/(\d+)$/)?.[1];
      if (role !== undefined) {
        return deletedRoles.has(role)
          ? restError(404, RESTJSONErrorCodes.UnknownRole)
          : json(200, { id: role });
      }
      const match = path.match(/^\/guilds\/(\d+)\/members\/(\d+)(?:\/roles\/(\d+))?$/);
      const [, guild, userId = '', roleId] = match ?? [];
      if (guild !== guildId) return undefined;
      if (roleId !== undefined) return changeRole(method, userId, roleId);
      const member = members.get(userId);
      if (!member) return restError(404, RESTJSONErrorCodes.UnknownMember);
      return json(200, { user: { id: userId }, ...member });
    },
  };
}
