import { InvalidInput } from './errors.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from './steam-id.ts';
import { splitList } from './text/list.ts';
import { hasVisibleCharacter } from './text/visible-text.ts';

/**
 * Specification section 2.3. CONTRIBUTING.md says how to add one: at the end, since stored tallies count types by position.
 * `severity`: 1 for the most severe; `isMute`: whether `/mutes` lists it.
 */
const PENALTY_TABLE = {
  ban: { severity: 1, isMute: false },
  mute: { severity: 3, isMute: true },
  gag: { severity: 4, isMute: true },
  silence: { severity: 2, isMute: true },
  warn: { severity: 5, isMute: false },
} as const satisfies Record<string, { severity: number; isMute: boolean }>;
export type PenaltyType = keyof typeof PENALTY_TABLE;
export const PENALTY_TYPES = Object.keys(PENALTY_TABLE) as [PenaltyType, ...PenaltyType[]];

/** A value for each type, in the order of specification section 2.4, which JSON keeps. */
export function byPenaltyType<T>(compute: (type: PenaltyType) => T): Record<PenaltyType, T> {
  return {
    ban: compute('ban'),
    gag: compute('gag'),
    mute: compute('mute'),
    silence: compute('silence'),
    warn: compute('warn'),
  };
}

type MuteType = {
  [Type in PenaltyType]: (typeof PENALTY_TABLE)[Type]['isMute'] extends true ? Type : never;
}[PenaltyType];
/** The types that `/mutes` lists, by name. */
export const MUTE_TYPES = PENALTY_TYPES.filter((type) => PENALTY_TABLE[type].isMute).sort() as [
  MuteType,
  ...MuteType[],
];

/**
 * Stored and sent in place of the name of an erased admin, in penalties of others; names of players become empty. Pages and
 * the bot translate it.
 */
export const FORMER_ADMIN = 'Former admin';

/** Allowed names for a source of imported penalties. */
export const SOURCE_NAME = /^[\w.:-]{1,64}$/;
/** What {@link SOURCE_NAME} allows, for messages. */
export const SOURCE_NAME_RULE = '1 to 64 letters, digits, . : _ -';

/** Specification section 3. */
export const PENALTY_STATUSES = ['ACTIVE', 'EXPIRED', 'UNBANNED'] as const;
export type PenaltyStatus = (typeof PENALTY_STATUSES)[number];

/** Specification section 3: the statuses in Polish. */
export const POLISH_STATUSES = {
  ACTIVE: 'aktywny',
  EXPIRED: 'wygasły',
  UNBANNED: 'odbanowany',
} as const satisfies Record<PenaltyStatus, string>;

/**
 * The words for each status. No letter of them has two forms in Unicode: `ł` does not decompose. Without the flag `u`, a
 * letter that is not ASCII never matches one that is, such as `ı` the `I`.
 */
const STATUS_WORDS = PENALTY_STATUSES.map((status) => {
  const polish = POLISH_STATUSES[status];
  return { status, words: new RegExp(`^(?:${status}|${polish}|${polish.replace('ł', 'l')})$`, 'i') };
});

/**
 * Reads a status in any letter case, in English or Polish, with or without `ł`.
 * @throws {InvalidInput} for anything else.
 */
export function parsePenaltyStatus(text: string): PenaltyStatus {
  const match = STATUS_WORDS.find(({ words }) => words.test(text));
  if (match) return match.status;
  throw new InvalidInput(
    `status ${quote(text)} is not known: use ${PENALTY_STATUSES.join(', ')} (or ${Object.values(POLISH_STATUSES).join(', ')})`,
  );
}

/**
 * Reads a penalty type in any letter case.
 * @param types those that the caller accepts, all by default.
 * @param name what the caller calls the value, for the message.
 * @throws {InvalidInput} for anything else.
 */
export function parsePenaltyType(
  text: string,
  types: readonly PenaltyType[] = PENALTY_TYPES,
  name = 'type',
): PenaltyType {
  const folded = text.toLowerCase();
  const type = types.find((choice) => choice === folded);
  if (type) return type;
  throw new InvalidInput(`${name} ${quote(text)} is not known: use ${types.join(', ')}`);
}

/**
 * Reads penalty types separated by commas: each once, in the order of all types, so that the same types are the same filter.
 * @throws {InvalidInput} for an unknown type and for an empty list.
 */
export function parsePenaltyTypes(text: string, name?: string): readonly PenaltyType[] {
  const words = splitList(text);
  const types = (words.length > 0 ? words : [text]).map((word) =>
    parsePenaltyType(word, PENALTY_TYPES, name),
  );
  return PENALTY_TYPES.filter((type) => types.includes(type));
}

/**
 * Years (UTC) that a penalty's times may lie in. Earlier dates are ways to write "never": the zero dates of .NET and
 * MySQL, Unix time zero. Later ones do not fit the specification's timestamps.
 */
export const PENALTY_YEARS = { first: 1971, last: 9999 } as const;

/** Whether a penalty may have been created, end or have been lifted at this time; false for an invalid date. */
export function isPenaltyTime(time: Date): boolean {
  const year = time.getUTCFullYear();
  return year >= PENALTY_YEARS.first && year <= PENALTY_YEARS.last;
}

/**
 * The status a record has at `now`: an ACTIVE one whose end has passed is EXPIRED.
 * @param storedStatus what the row says, which may lag behind the clock.
 */
export function statusAt(storedStatus: PenaltyStatus, endsAt: Date | null, now: Date): PenaltyStatus {
  return storedStatus === 'ACTIVE' && endsAt !== null && endsAt <= now ? 'EXPIRED' : storedStatus;
}

/**
 * Whether a penalty was lifted only because its source no longer has it. A trigger (0006_penalties.sql) lifts it when it is
 * marked as gone. The function `liftedByRemoval` is the same in SQL.
 */
export function isLiftedByRemoval({
  status,
  liftedAt,
  goneAt,
}: {
  status: PenaltyStatus;
  liftedAt: Date | null;
  goneAt: Date | null;
}): boolean {
  if (status !== 'UNBANNED' || goneAt === null) return false;
  return liftedAt?.getTime() === Math.floor(goneAt.getTime() / 1000) * 1000;
}

type Ending = {
  /** As of now. */
  status: PenaltyStatus;
  endsAt: Date | null;
};

/**
 * Whether an active penalty has a duration, but no end that is known: it counts down while the player is online. Imports
 * with `--online-time` store such mutes.
 */
export function countsOnlineTime({
  status,
  durationMinutes,
  endsAt,
}: Ending & { durationMinutes: number }): boolean {
  return status === 'ACTIVE' && durationMinutes > 0 && endsAt === null;
}

/** The process that recorded an end may have a clock that is ahead. */
const CLOCK_NOISE_MS = 60_000;

/**
 * When a penalty ends or ended, as far as that is known at `now`. CS2-SimpleAdmin stores a lifted warning as EXPIRED, with
 * the end that it would have had.
 */
export function knownEnd({ status, endsAt }: Ending, now: Date): Date | null {
  const isOverEarly =
    status === 'EXPIRED' && endsAt !== null && endsAt.getTime() - now.getTime() > CLOCK_NOISE_MS;
  return isOverEarly ? null : endsAt;
}

/**
 * What is shown as the server of a penalty; undefined for all servers, which the id 0 stands for. A server that is no
 * longer in the database is shown by its number.
 */
export function serverNameOf({
  serverId,
  serverName,
}: {
  serverId: number;
  serverName: string | null | undefined;
}): string | undefined {
  return serverName ?? (serverId === 0 ? undefined : `#${serverId}`);
}

/** The admin who gave a penalty, as stored. */
type Admin = { adminName: string; adminSteamId: SteamId64 };

/** The name that plugins store for the server's console. */
const CONSOLE_NAME = /^console$/i;

/** Whether the server's console gave a penalty: plugins store it as the admin `Console`, or as one without a name. */
export function isByConsole({ adminName, adminSteamId }: Admin): boolean {
  const isUnnamed = !hasVisibleCharacter(adminName) || CONSOLE_NAME.test(adminName);
  return adminSteamId === UNKNOWN_STEAM_ID && isUnnamed;
}

/** Whether an erased admin gave a penalty. The name does not suffice: anybody may use it. */
export function isByErasedAdmin({ adminName, adminSteamId }: Admin): boolean {
  return adminSteamId === UNKNOWN_STEAM_ID && adminName === FORMER_ADMIN;
}

/** The name of who lifted a penalty, with the reader's words for the console and for an erased admin; may be empty. */
export function lifterNameOf(
  { liftedByName }: { liftedByName: string | null },
  words: { console: string; formerAdmin: string },
): string {
  const name = liftedByName ?? '';
  if (name === FORMER_ADMIN) return words.formerAdmin;
  return CONSOLE_NAME.test(name) ? words.console : name;
}

/** Why a penalty was lifted; empty when that is not known. Some plugins copy the reason of the penalty, which is none. */
export function liftReasonOf({ reason, liftReason }: { reason: string; liftReason: string | null }): string {
  const text = liftReason ?? '';
  return text.trim() === reason.trim() ? '' : text;
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}

/** The active penalty that counts most: of the most severe type and, among several, the one that lasts longest. */
export function findLead<Penalty extends Ending & { id: number; type: PenaltyType; durationMinutes: number }>(
  active: readonly Penalty[],
): Penalty | undefined {
  const endOf = (penalty: Penalty) =>
    penalty.endsAt?.getTime() ??
    (countsOnlineTime(penalty) ? Number.MAX_SAFE_INTEGER : Number.POSITIVE_INFINITY);
  const [lead] = active.toSorted(
    (a, b) =>
      PENALTY_TABLE[a.type].severity - PENALTY_TABLE[b.type].severity || endOf(b) - endOf(a) || b.id - a.id,
  );
  return lead;
}
