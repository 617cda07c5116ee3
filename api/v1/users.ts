import { Elysia, type Static, t } from 'elysia';
import { InvalidInput, NotFound } from '../../src/errors.ts';
import type { LookedUpUser } from '../../src/queries/users.ts';
import { accountId, type SteamId64 } from '../../src/steam-id.ts';
import { describe, ERRORS, MODELS } from '../docs.ts';
import { formatTimestampZ } from '../json.ts';
import type { Query, Routes } from '../routes.ts';
import { parseSteamIdParameter } from './penalties.ts';

export const UserModel = t.Object(
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
  { description: 'Specification 2.7', additionalProperties: false },
);

type Who = { discordId: string } | { steamId64: SteamId64 };
type Deps = { findUser: (who: Who, now: Date) => Promise<LookedUpUser | undefined> };

/** User lookup: specification 4.5. */
export function users(routes: Routes, { findUser }: Deps) {
  return new Elysia().get(
    '/users/lookup',
    ({ request, server }) =>
      routes.guarded({ request, server }, async (query, _, now) => {
        const user = await findUser(parseWho(query), now);
        if (!user) throw new NotFound('User not found');
        return { success: true, user: presentUser(user) };
      }),
    {
      detail: describe({
        tag: 'Users',
        summary: 'A user by Discord id or SteamID',
        description: 'One of the two is required; discord_id takes priority.',
        parameters: [
          {
            in: 'query',
            name: 'discord_id',
            description: '1 to 20 digits.',
            example: '80351110224678912',
            schema: { type: 'string', pattern: '^[0-9]{1,20}$' },
          },
          {
            in: 'query',
            name: 'steamid64',
            description: 'SteamID64, STEAM_X:Y:Z or [U:1:N].',
            example: '76561198000000001',
          },
        ],
        answers: {
          200: { model: MODELS.userLookup },
          400: ERRORS.badRequest,
          401: ERRORS.unauthorized,
          404: ERRORS.userNotFound,
          429: ERRORS.tooMany,
          500: ERRORS.failed,
          503: ERRORS.unavailable,
        },
        isProtected: true,
      }),
    },
  );
}

/** `discord_id` wins; what is not used is not judged. */
function parseWho(query: Query): Who {
  const discordId = query.get('discord_id');
  if (discordId !== undefined) {
    if (/^[0-9]{1,20}$/.test(discordId)) return { discordId };
    throw new InvalidInput(
      `discord_id ${JSON.stringify(discordId.slice(0, 64))} is not allowed: give 1 to 20 digits`,
    );
  }
  const steamId = query.get('steamid64');
  if (steamId !== undefined) return { steamId64: parseSteamIdParameter('steamid64', steamId) };
  throw new InvalidInput('Give discord_id or steamid64');
}

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
