import { InvalidInput } from '../../domain/errors.ts';
import {
  type AdminRights,
  findRows,
  loadRows,
  toAdminRights,
  toGroupPermission,
  toLetters,
} from '../admin-rights.ts';
import type { SourceDatabase } from '../source/source-database.ts';

/**
 * The admins of a SourceBans++ database, with their flags in the game; rights to its panel are none there.
 * @param prefix of the table names, such as `sb_`.
 * @throws {InvalidInput} when a table that they need is missing.
 */
export async function readSourcebansAdmins(database: SourceDatabase, prefix: string): Promise<AdminRights[]> {
  const admins = await loadRows(database, `${prefix}admins`, {
    needed: ['authid', 'srv_flags'],
    wanted: ['srv_group'],
  });
  const groups = await findRows(database, `${prefix}srvgroups`, { needed: ['name', 'flags'] });
  if (!groups && admins.some(({ srv_group }) => srv_group)) {
    throw new InvalidInput(`the source has no table ${prefix}srvgroups, or its user may not read it`);
  }
  // MySQL compares names without letter case.
  const groupsByName = new Map(groups?.map((group) => [foldName(group.name), group]));
  return admins.flatMap((admin) => {
    const group = groupsByName.get(foldName(admin.srv_group));
    const permissions = [
      ...toLetters(admin.srv_flags),
      ...(group ? [toGroupPermission(group.name ?? ''), ...toLetters(group.flags)] : []),
    ];
    return toAdminRights(admin.authid, { permissions, endsAt: null }) ?? [];
  });
}

function foldName(name: string | null | undefined): string {
  return (name ?? '').trim().toLowerCase();
}
