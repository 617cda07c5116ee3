import { type Static, t } from 'elysia';
import type { Reads } from '../../../src/db/client.ts';
import { InvalidInput, NotFound } from '../../../src/domain/errors.ts';
import { isAdministrator } from '../../../src/domain/rights/administrator.ts';
import { maySeeDiscord, withoutDiscord } from '../../../src/domain/rights/discord-visibility.ts';
import { accountId } from '../../../src/domain/steam-id.ts';
import { formatTimestampZ } from '../../../src/domain/text/timestamp.ts';
import type { ApiToken } from '../../../src/queries/users/api-tokens.ts';
import {
  findUser,
  type LookedUpUser,
  listUsersByDiscordId,
  listUsersBySteamId,
} from '../../../src/queries/users/users.ts';
import { defineFailure } from '../../http/documented-failures.ts';
import { optional, type Parameter } from '../../http/parameters.ts';
import { protectedRoute } from '../../http/route-definition.ts';
import {
  type AskedId,
  idsOf,
  OPTIONAL_DISCORD_IDS_PARAMETER,
  OPTIONAL_STEAM_IDS_PARAMETER,
} from '../id-lists.ts';
import { namedObject, nullable, SteamId64Model, strictObject, successModel } from '../models.ts';
import { parseDiscordId, steamIdParameter } from '../parameters.ts';

/** Specification 2.7. */
const UserModel = namedObject('User', {
  nickname: t.String({ examples: ['Rzeźnik'] }),
  steamid64: SteamId64Model,
  account_id: t.Integer({ examples: [39734273] }),
  discord_id: t.String({
    pattern: '^[0-9]{0,20}$',
    description: 'Empty when no account is linked.',
    examples: ['80351110224678912'],
  }),
  discord_username: t.String({ examples: ['rzeznik'] }),
  discord_avatar: t.String({ description: 'Avatar hash.', examples: ['8342729096ea3675442027381ff50dfe'] }),
  is_admin: t.Boolean({ examples: [false] }),
  is_owner: t.Boolean({ examples: [false] }),
  has_svip: t.Boolean({ examples: [false] }),
  is_serviceplus: t.Boolean({ examples: [false] }),
  is_banned: t.Boolean({ description: 'An active ban exists.', examples: [false] }),
  created_at: t.String({ format: 'date-time', examples: ['2026-11-21T10:00:00Z'] }),
});

const UserResponseModel = successModel('UserResponse', { user: UserModel });

const UserListModel = successModel('UserList', {
  data: t.Array(
    strictObject({
      query: t.String({
        description: 'The id as it was written in the request, at its first occurrence.',
        examples: ['[U:1:39734273]'],
      }),
      user: nullable(UserModel, 'Null when there is no such user.'),
    }),
    { description: 'One entry for each user asked for, in the order of the request.' },
  ),
});

/** A user as lookups show them. */
function presentUser(user: LookedUpUser): Static<typeof UserModel> {
  return {
    nickname: user.nickname,
    steamid64: user.steamId64,
    account_id: accountId(user.steamId64),
    discord_id: user.discordId ?? '',
    discord_username: user.discordUsername,
    discord_avatar: user.discordAvatar,
    is_admin: user.isAdmin,
    is_owner: user.isOwner,
    has_svip: user.hasSvip,
    is_serviceplus: user.isServiceplus,
    is_banned: user.isBanned,
    created_at: formatTimestampZ(user.createdAt),
  };
}

const DISCORD_ID_PARAMETER = {
  name: 'discord_id',
  description: "The user's Discord id, 1 to 20 digits.",
  schema: { type: 'string', pattern: '^[0-9]{1,20}$' },
  example: '80351110224678912',
  refused: 'somebody',
  parse: optional((text) => parseDiscordId('discord_id', text)),
} as const satisfies Parameter<string | undefined>;

const STEAM_ID_PARAMETER = {
  ...steamIdParameter({ name: 'steamid64', description: 'The user', example: '76561198000000001' }),
  ignoredBeside: DISCORD_ID_PARAMETER.name,
};

const NOBODY_NAMED = defineFailure(
  'NobodyNamed',
  'Neither parameter is given.',
  () => new InvalidInput('Give discord_id or steamid64'),
);
const USER_NOT_FOUND = defineFailure(
  'UserNotFound',
  'There is no such user: for a player who never signed in here, ask `/penalties?steamid=`.',
  () => new NotFound('User not found'),
);

export const lookupUser = protectedRoute({
  path: '/users/lookup',
  id: 'lookupUser',
  tag: 'Users',
  summary: 'A user by Discord id or SteamID',
  description: 'One of the two is required; with both, discord_id is used and steamid64 is ignored.',
  scope: 'lookup',
  parameters: { discordId: DISCORD_ID_PARAMETER, steamId64: STEAM_ID_PARAMETER },
  success: { model: UserResponseModel },
  failures: [NOBODY_NAMED, USER_NOT_FOUND],
  handle: async ({ reads }: { reads: Reads }, { discordId, steamId64 }, { token, now }) => {
    const who = discordId ? { discordId } : steamId64 && { steamId64 };
    if (!who) throw NOBODY_NAMED.error();
    const storedUser = await findUser(reads, who, now);
    const user = storedUser && toVisible(storedUser, token, 'discordId' in who);
    if (!user) throw USER_NOT_FOUND.error();
    return { json: { success: true, user: presentUser(user) } };
  },
});

const ONE_LIST_NEEDED = defineFailure(
  'OneListNeeded',
  'Neither list is given, or both are.',
  () => new InvalidInput('Give either steamids or discord_ids'),
);

export const lookupUsers = protectedRoute({
  path: '/users/lookup/batch',
  id: 'lookupUsers',
  tag: 'Users',
  summary: 'Up to 100 users by Discord ids or SteamIDs',
  description: 'One of the two lists is required. Counts as one request.',
  isExtension: true,
  scope: 'lookup',
  parameters: { steamIds: OPTIONAL_STEAM_IDS_PARAMETER, discordIds: OPTIONAL_DISCORD_IDS_PARAMETER },
  success: { model: UserListModel },
  failures: [ONE_LIST_NEEDED],
  handle: async ({ reads }: { reads: Reads }, { steamIds, discordIds }, { token, now }) => {
    const entries: AskedId[] | undefined = steamIds ?? discordIds;
    if (!entries || (steamIds && discordIds)) throw ONE_LIST_NEEDED.error();
    const users = steamIds
      ? await listUsersBySteamId(reads, idsOf(steamIds), now)
      : await listUsersByDiscordId(reads, idsOf(entries), now);
    const visibleUsers = users.flatMap((user) => toVisible(user, token, !steamIds) ?? []);
    const byId = new Map(visibleUsers.map((user) => [steamIds ? user.steamId64 : user.discordId, user]));
    const data = entries.map(({ id, query }) => {
      const user = byId.get(id);
      return { query, user: user ? presentUser(user) : null };
    });
    return { json: { success: true, data } satisfies Static<typeof UserListModel> };
  },
});

/**
 * The user as the owner of a token may see them: without the Discord account if they hide it.
 * @param isByDiscord whether the lookup was by Discord id, which finds nobody who hides theirs.
 */
function toVisible(user: LookedUpUser, token: ApiToken, isByDiscord: boolean): LookedUpUser | undefined {
  const viewer = { steamId64: token.steamId64, isAdministrator: isAdministrator(token) };
  if (maySeeDiscord(user, viewer)) return user;
  return isByDiscord ? undefined : withoutDiscord(user);
}
