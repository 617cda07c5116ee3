import { type Static, t } from 'elysia';
import type { Reads } from '../../../src/db/client.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { presentPenalty } from '../../../src/events/penalty-payload.ts';
import {
  type ActivePenalties,
  listActivePenalties as listActive,
} from '../../../src/queries/penalties/active.ts';
import { protectedRoute } from '../../http/route-definition.ts';
import { idsOf, STEAM_IDS_PARAMETER } from '../id-lists.ts';
import { count, namedObject, SteamId64Model, successModel } from '../models.ts';
import { PenaltyModel } from './penalty-models.ts';

/** The maximum number of penalties listed for one player. */
const LIMIT = 20;

const PlayerModel = namedObject('PlayerInForce', {
  steamid64: SteamId64Model,
  is_banned: t.Boolean({ examples: [true] }),
  is_muted: t.Boolean({ description: 'Cannot use voice chat: a mute or a silence.', examples: [false] }),
  is_gagged: t.Boolean({ description: 'Cannot use text chat: a gag or a silence.', examples: [false] }),
  is_silenced: t.Boolean({ examples: [false] }),
  warnings: count(0, 'Number of active warnings.'),
  penalties: t.Array(PenaltyModel, {
    maxItems: LIMIT,
    description: `Active penalties, newest first; at most ${LIMIT}.`,
  }),
});

export const listActivePenalties = protectedRoute({
  path: '/penalties/active',
  id: 'listActivePenalties',
  tag: 'Penalties',
  summary: 'Active penalties of up to 100 players',
  description:
    'The response contains every requested player, including those without penalties. Counts as one request.',
  isExtension: true,
  scope: 'penalties',
  parameters: { players: STEAM_IDS_PARAMETER },
  success: {
    model: successModel('ActivePenalties', {
      data: t.Array(PlayerModel, { description: 'In the order of the request.' }),
    }),
  },
  handle: async ({ reads }: { reads: Reads }, { players }, { now }) => {
    const active = await listActive(reads, idsOf(players), { limit: LIMIT, now });
    return { json: { success: true, data: players.map(({ id }) => presentPlayer(id, active.get(id))) } };
  },
});

function presentPlayer(
  steamId64: SteamId64,
  active: ActivePenalties | undefined,
): Omit<Static<typeof PlayerModel>, 'penalties'> & { penalties: unknown[] } {
  const has = (type: keyof ActivePenalties['counts']) => (active?.counts[type] ?? 0) > 0;
  return {
    steamid64: steamId64,
    is_banned: has('ban'),
    is_muted: has('mute') || has('silence'),
    is_gagged: has('gag') || has('silence'),
    is_silenced: has('silence'),
    warnings: active?.counts.warn ?? 0,
    penalties: active?.newest.map(presentPenalty) ?? [],
  };
}
