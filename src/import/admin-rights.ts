import { InvalidInput } from '../domain/errors.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../domain/steam-id.ts';
import type { SourceDatabase, SourceRow } from './source/source-database.ts';
import { findSourceTable, selectSourceRows } from './source/tables.ts';
import { toAdminSteamId } from './source/values.ts';

/** What an admin of a game may do: flags as the system writes them, and groups by {@link toGroupPermission}. */
export type AdminRights = { steamId64: SteamId64; permissions: ReadonlySet<string>; endsAt: Date | null };

type Columns = { needed: readonly string[]; wanted?: readonly string[] };

/** All rows of a table; undefined when it is missing, which it also seems to be to a user who may not read it. */
export async function findRows(
  database: SourceDatabase,
  name: string,
  { needed, wanted = [] }: Columns,
): Promise<SourceRow[] | undefined> {
  const table = await findSourceTable(database, name, { needed, wanted });
  return table && selectSourceRows(database, table);
}

/** The same for a table without which rights cannot be known. @throws {InvalidInput} when it is missing. */
export async function loadRows(
  database: SourceDatabase,
  name: string,
  columns: Columns,
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

/** Flags of one letter each. */
export function toLetters(flags: string | null | undefined): string[] {
  return flags?.match(/[a-z]/gi) ?? [];
}
