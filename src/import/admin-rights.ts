import { InvalidInput } from '../domain/errors.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../domain/steam-id.ts';
import { findRows, type SourceDatabase, type SourceRow, type WantedColumns } from './source/tables.ts';
import { parseUnixSeconds, toAdminSteamId, tryParse } from './source/values.ts';

/** What an admin of a game may do: flags as the system writes them, and groups by {@link toGroupPermission}. */
export type AdminRights = { steamId64: SteamId64; permissions: ReadonlySet<string>; endsAt: Date | null };

/** All rows of a table without which rights cannot be known. @throws {InvalidInput} when it is missing. */
export async function loadRows(
  database: SourceDatabase,
  name: string,
  columns: WantedColumns,
): Promise<SourceRow[]> {
  const rows = await findRows(database, name, columns);
  if (rows) return rows;
  throw new InvalidInput(`the source has no table ${name}, or its user may not read it`);
}

/** An admin with a SteamID; undefined for the console and other rows without one. */
export function toAdminRights(
  steamId: string | null | undefined,
  { permissions, endsAt }: { permissions: Iterable<string>; endsAt: Date | null },
): AdminRights | undefined {
  const steamId64 = toAdminSteamId(steamId);
  if (steamId64 === UNKNOWN_STEAM_ID) return undefined;
  return { steamId64, permissions: new Set(permissions), endsAt };
}

/** A group as a mapping names it: by its name, with one `#` in front. */
export function toGroupPermission(name: string): string {
  const trimmed = name.trim();
  return trimmed.startsWith('#') ? trimmed : `#${trimmed}`;
}

type Table = { table: string; columns: WantedColumns };

/**
 * The admins on any server who are neither deleted nor disabled, of a system with flags of one letter each.
 * @param admins read as `steam_id`, `flags`, and optionally `group_key`, `end_at`, `is_disabled`, `deleted_at`.
 * @param groups read as `group_key`, `name`, `flags`.
 * @throws {InvalidInput} when a table that is needed is missing.
 */
export async function readLetterAdmins(
  database: SourceDatabase,
  admins: Table,
  groups: Table,
): Promise<AdminRights[]> {
  const rows = await loadRows(database, admins.table, admins.columns);
  const isGrouped = rows.some(({ group_key }) => isSet(group_key));
  const groupRows = await (isGrouped ? loadRows : findRows)(database, groups.table, groups.columns);
  const groupsByKey = new Map(groupRows?.map((group) => [foldKey(group.group_key), group]));
  return rows.flatMap(({ steam_id, flags, group_key, end_at, is_disabled, deleted_at }) => {
    const endsAt = tryParse(() => parseUnixSeconds(end_at) ?? null);
    if (endsAt === undefined || isSet(is_disabled) || isSet(deleted_at)) return [];
    const group = isSet(group_key) ? groupsByKey.get(foldKey(group_key)) : undefined;
    const permissions = [
      ...toLetters(flags),
      ...(group ? [toGroupPermission(group.name ?? ''), ...toLetters(group.flags)] : []),
    ];
    return toAdminRights(steam_id, { permissions, endsAt }) ?? [];
  });
}

function isSet(value: string | null | undefined): boolean {
  return Boolean(value) && value !== '0';
}

/** MySQL compares names without letter case. */
function foldKey(key: string | null | undefined): string {
  return (key ?? '').trim().toLowerCase();
}

function toLetters(flags: string | null | undefined): string[] {
  return flags?.match(/[a-z]/gi) ?? [];
}
