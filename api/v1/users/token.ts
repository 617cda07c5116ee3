import { type Static, t } from 'elysia';
import { TOKEN_SCOPES } from '../../../src/domain/rights/token-scope.ts';
import { formatTimestamp } from '../../../src/domain/text/timestamp.ts';
import { protectedRoute } from '../../http/route-definition.ts';
import { namedObject, nullable, oneOf, SteamId64Model, successModel, TimestampModel } from '../models.ts';

const TokenModel = namedObject('Token', {
  name: t.String({ examples: ['My website'] }),
  owner_steamid64: SteamId64Model,
  scopes: t.Array(oneOf(TOKEN_SCOPES)),
  created_at: TimestampModel,
  expires_at: nullable(TimestampModel, 'Null when the token does not expire.'),
  limit_per_minute: t.Integer({
    minimum: 1,
    description: "Requests a minute that all tokens of the token's owner share.",
    examples: [60],
  }),
});

export const getToken = protectedRoute({
  path: '/token',
  id: 'getToken',
  tag: 'Users',
  summary: 'The token of the request',
  description: 'Needs a token with any scope.',
  isExtension: true,
  parameters: {},
  success: { model: successModel('TokenResponse', { data: TokenModel }) },
  handle: async (_, __, { token, limit }) => {
    const data: Static<typeof TokenModel> = {
      name: token.name,
      owner_steamid64: token.steamId64,
      scopes: token.scopes,
      created_at: formatTimestamp(token.createdAt),
      expires_at: token.expiresAt && formatTimestamp(token.expiresAt),
      limit_per_minute: limit,
    };
    return { json: { success: true, data } };
  },
});
