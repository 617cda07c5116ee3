import type { FlagSystem } from '../systems.ts';

/** What a SteamID may be to the community, as the API names it, and its column of a user. */
export const USER_FLAGS = {
  is_owner: 'isOwner',
  is_admin: 'isAdmin',
  is_moderator: 'isModerator',
  has_svip: 'hasSvip',
  is_serviceplus: 'isServiceplus',
} as const;
export type UserFlag = keyof typeof USER_FLAGS;
/** A flag by its column of a user. */
export type UserFlagColumn = (typeof USER_FLAGS)[UserFlag];
export const USER_FLAG_COLUMNS: readonly UserFlagColumn[] = Object.values(USER_FLAGS);
export const USER_FLAG_NAMES = Object.keys(USER_FLAGS) as UserFlag[];

/** Everything that gives flags: people, `OWNER_STEAMIDS` and `MODERATOR_STEAMIDS`, other systems. */
export type FlagSource = 'hand' | 'configuration' | FlagSystem;

/** Flags that other systems may give: owners are only named here. */
export const MAPPED_FLAGS = USER_FLAG_NAMES.filter((flag) => flag !== 'is_owner');

/** Which permissions, groups or roles of another system give which flag: any of those listed is enough. */
export type FlagMapping = readonly { flag: UserFlag; permissions: readonly string[] }[];

/** What roles of linked members on Discord can follow. */
export const MEMBER_FACTS = ['linked', 'is_banned', ...USER_FLAG_NAMES] as const;
type MemberFact = 'linked' | 'is_banned' | UserFlag;
/** A role that linked members of the Discord guild have while a fact is true of them. */
export type RoleGrant = { fact: MemberFact; roleId: string };
/** In a mapping of Discord's roles: members who boost the guild. */
export const BOOST = 'boost';

/**
 * Reads a mapping such as `is_admin=@css/ban,@css/root;has_svip=@css/vip`; spaces around names do not count.
 * @returns undefined for another form, and for a flag that is unknown or named twice.
 */
export function tryParseFlagMapping(text: string): FlagMapping | undefined {
  return tryParseMapping(text, MAPPED_FLAGS)?.map(([flag, permissions]) => ({ flag, permissions }));
}

/** Reads the same form with keys of another kind. */
export function tryParseMapping<Key extends string>(
  text: string,
  keys: readonly Key[],
): [key: Key, names: string[]][] | undefined {
  const mapping: [Key, string[]][] = [];
  for (const part of text.split(';').filter((each) => each.trim() !== '')) {
    const [name = '', list = '', ...rest] = part.split('=').map((each) => each.trim());
    const key = keys.find((each) => each === name);
    const names = list.split(',').map((each) => each.trim());
    const isTwice = mapping.some(([each]) => each === key);
    if (!key || isTwice || rest.length > 0 || names.includes('')) return undefined;
    mapping.push([key, names]);
  }
  return mapping.length === 0 ? undefined : mapping;
}

/** A flag that a source gives to a SteamID, whether or not they have an account; `endsAt` null: for ever. */
export type FlagGrant<Id = string> = { steamId64: Id; flag: UserFlag; endsAt: Date | null };

/** The flags that a mapping gives for permissions, all until the same end. */
export function mapPermissions<Id>(
  mapping: FlagMapping,
  steamId64: Id,
  { permissions, endsAt }: { permissions: ReadonlySet<string>; endsAt: Date | null },
): FlagGrant<Id>[] {
  return mapping
    .filter((each) => each.permissions.some((permission) => permissions.has(permission)))
    .map(({ flag }) => ({ steamId64, flag, endsAt }));
}
