import { InvalidInput } from '../../domain/errors.ts';
import { splitList } from '../../domain/text/list.ts';
import { type AdminRights, loadRows, toAdminRights, toGroupPermission } from '../admin-rights.ts';
import { findRows, type SourceDatabase, type SourceRow } from '../source/tables.ts';
import { tryParse } from '../source/values.ts';
import { parseWallClock, type WallClock } from '../source/wall-clock.ts';

/**
 * The admins of any server who are in force, with their own flags and those of their groups.
 * @throws {InvalidInput} when a table that they need is missing.
 */
export async function readSimpleAdmins(
  database: SourceDatabase,
  toInstant: (wallClock: WallClock) => Date,
): Promise<AdminRights[]> {
  const admins = await loadRows(database, 'sa_admins', {
    needed: ['id', 'player_steamid'],
    optional: ['ends', 'group_id', 'flags'],
  });
  const flags = await findRows(database, 'sa_admins_flags', { needed: ['admin_id', 'flag'] });
  // Older versions, and css-bans, have flags as text in the table of admins.
  if (!flags && admins.length > 0 && !admins.some((admin) => admin.flags)) {
    throw new InvalidInput('the source has no flags of admins, or its user may not read sa_admins_flags');
  }
  const flagsOf = collect(flags ?? [], 'admin_id');
  const groups = await loadGroups(database, admins, [...flagsOf.values()].flat());
  return admins.flatMap((admin) => {
    const endsAt = tryParseEnd(admin.ends, toInstant);
    const ownFlags = [...(flagsOf.get(admin.id ?? '') ?? []), ...splitList(admin.flags ?? '')];
    const theirGroups = groups.filter(
      ({ id, permission }) =>
        id === admin.group_id || ownFlags.some((flag) => isGroup(flag) && flag === permission),
    );
    const permissions = [...ownFlags, ...theirGroups.flatMap((group) => [group.permission, ...group.flags])];
    return (endsAt !== undefined && toAdminRights(admin.player_steamid, { permissions, endsAt })) || [];
  });
}

/** The groups that hold somewhere. */
async function loadGroups(database: SourceDatabase, admins: readonly SourceRow[], flags: readonly string[]) {
  const isGrouped = admins.some(({ group_id }) => group_id) || flags.some(isGroup);
  const columns = { needed: ['id', 'name'] };
  const rows = await (isGrouped ? loadRows : findRows)(database, 'sa_groups', columns);
  if (!rows) return [];
  const flagsOf = collect(
    await loadRows(database, 'sa_groups_flags', { needed: ['group_id', 'flag'] }),
    'group_id',
  );
  const places = await findRows(database, 'sa_groups_servers', { needed: ['group_id'] });
  const placedIds = places && new Set(places.map(({ group_id }) => group_id));
  return rows
    .filter(({ id }) => placedIds?.has(id ?? '') ?? true)
    .map(({ id, name }) => ({
      id,
      permission: toGroupPermission(name ?? ''),
      flags: flagsOf.get(id ?? '') ?? [],
    }));
}

/** The flags of each owner, from a table with one flag a row. */
function collect(rows: readonly SourceRow[], owner: 'admin_id' | 'group_id'): Map<string, string[]> {
  const flagsOf = new Map<string, string[]>();
  for (const row of rows) {
    const id = row[owner] ?? '';
    flagsOf.set(id, [...(flagsOf.get(id) ?? []), ...splitList(row.flag ?? '')]);
  }
  return flagsOf;
}

function isGroup(flag: string): boolean {
  return flag.startsWith('#');
}

/** @returns null for a permanent one; undefined for a text that is no date, which the plugin treats as past. */
function tryParseEnd(
  text: string | null | undefined,
  toInstant: (wallClock: WallClock) => Date,
): Date | null | undefined {
  if (text === null || text === undefined) return null;
  const wallClock = tryParse(() => parseWallClock(text));
  return wallClock === undefined ? undefined : toInstant(wallClock);
}
