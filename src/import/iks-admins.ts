import { InvalidInput } from '../domain/errors.ts';
import {
  type AdminRights,
  findRows,
  loadRows,
  toAdminRights,
  toGroupPermission,
  toLetters,
} from './admin-rights.ts';
import type { SourceDatabase } from './source/source-database.ts';
import { parseUnixSeconds } from './source/values.ts';

/**
 * The admins of an IKS Admin 3 database who are neither deleted nor disabled, on any server.
 * @throws {InvalidInput} when a table that they need is missing.
 */
export async function readIksAdmins(database: SourceDatabase): Promise<AdminRights[]> {
  const admins = await loadRows(database, 'iks_admins', {
    needed: ['steam_id', 'flags'],
    wanted: ['group_id', 'is_disabled', 'end_at', 'deleted_at'],
  });
  const groups = await findRows(database, 'iks_groups', { needed: ['id', 'name', 'flags'] });
  if (!groups && admins.some(({ group_id }) => isSet(group_id))) {
    throw new InvalidInput('the source has no table iks_groups, or its user may not read it');
  }
  const groupsById = new Map(groups?.map((group) => [group.id, group]));
  return admins.flatMap((admin) => {
    const endsAt = tryParseEnd(admin.end_at);
    if (endsAt === undefined || isSet(admin.is_disabled) || isSet(admin.deleted_at)) return [];
    const group = isSet(admin.group_id) ? groupsById.get(admin.group_id ?? null) : undefined;
    const permissions = [
      ...toLetters(admin.flags),
      ...(group ? [toGroupPermission(group.name ?? ''), ...toLetters(group.flags)] : []),
    ];
    return toAdminRights(admin.steam_id, { permissions, endsAt }) ?? [];
  });
}

function isSet(value: string | null | undefined): boolean {
  return value !== null && value !== undefined && value !== '' && value !== '0';
}

/** @returns null for ever; undefined for what is no time. */
function tryParseEnd(text: string | null | undefined): Date | null | undefined {
  try {
    return parseUnixSeconds(text) ?? null;
  } catch (error) {
    if (error instanceof InvalidInput) return undefined;
    throw error;
  }
}
