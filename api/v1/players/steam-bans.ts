import { type Static, t } from 'elysia';
import { decodePathPart, type SteamId64 } from '../../../src/domain/steam-id.ts';
import { formatTimestamp } from '../../../src/domain/text/timestamp.ts';
import type { SteamBans } from '../../../src/queries/steam-bans.ts';
import type { LookUpSteamBans } from '../../../src/steam/bans.ts';
import type { Parameter } from '../../http/parameters.ts';
import { protectedRoute } from '../../http/route-definition.ts';
import { count, namedObject, successModel, TimestampModel } from '../models.ts';
import { parseSteamIdOf, STEAM_ID_NOTATIONS } from '../parameters.ts';

const KnownBansModel = namedObject('KnownSteamBans', {
  known: t.Literal(true),
  vac_bans: count(1),
  game_bans: count(1),
  days_since_last_ban: count(34, '0 when there is no ban.'),
  community_banned: t.Boolean({ examples: [false] }),
  checked_at: TimestampModel,
});
const UnknownBansModel = namedObject(
  'UnknownSteamBans',
  { known: t.Literal(false) },
  "Steam's bans are not known: the player may have some.",
);

const PLAYER_PARAMETER = {
  in: 'path',
  name: 'player',
  description: `${STEAM_ID_NOTATIONS}.`,
  example: '76561198000000001',
  refused: 'nobody',
  parse: (text = '') => parseSteamIdOf('steamid64', decodePathPart(text)),
} as const satisfies Parameter<SteamId64>;

export const getSteamBans = protectedRoute({
  path: '/players/:player/steam-bans',
  id: 'getSteamBans',
  tag: 'Players',
  summary: "Steam's own bans of a player",
  description:
    'At most a day old. When Steam cannot be asked, the response says so, after ten seconds at most; Steam is asked again after a minute.',
  isExtension: true,
  scope: 'lookup',
  parameters: { steamId64: PLAYER_PARAMETER },
  success: {
    model: successModel('SteamBansResponse', { data: t.Union([KnownBansModel, UnknownBansModel]) }),
  },
  handle: async ({ lookUpSteamBans }: { lookUpSteamBans: LookUpSteamBans }, { steamId64 }) => ({
    json: { success: true, data: present(await lookUpSteamBans(steamId64)) },
  }),
});

function present(
  bans: SteamBans | undefined,
): Static<typeof KnownBansModel> | Static<typeof UnknownBansModel> {
  if (!bans) return { known: false };
  return {
    known: true,
    vac_bans: bans.vacBans,
    game_bans: bans.gameBans,
    days_since_last_ban: bans.daysSinceLastBan,
    community_banned: bans.isCommunityBanned,
    checked_at: formatTimestamp(bans.checkedAt),
  };
}
