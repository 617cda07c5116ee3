import { type Static, t } from 'elysia';
import { accountId } from '../../../src/domain/steam-id.ts';
import { formatTimestampZ } from '../../../src/domain/text/timestamp.ts';
import type { LookedUpUser } from '../../../src/queries/users/users.ts';
import { STRICT, successModel } from '../models.ts';

/** Specification 2.7. */
const UserModel = t.Object(
  {
    nickname: t.String({ examples: ['Rzeźnik'] }),
    steamid64: t.String({ pattern: '^[0-9]{17}$', examples: ['76561198000000001'] }),
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
  },
  { ...STRICT, $id: 'User' },
);

export const UserResponseModel = successModel('UserResponse', { user: UserModel });

export const UserListModel = successModel('UserList', {
  data: t.Array(
    t.Object(
      {
        query: t.String({
          description: 'The id as it was written in the request, at its first occurrence.',
          examples: ['[U:1:39734273]'],
        }),
        user: t.Union([UserModel, t.Null()], { description: 'Null when there is no such user.' }),
      },
      STRICT,
    ),
    { description: 'One entry for each user asked for, in the order of the request.' },
  ),
});

/** A user as lookups show them. */
export function presentUser(user: LookedUpUser): Static<typeof UserModel> {
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
