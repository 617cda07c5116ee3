import { type Static, t } from 'elysia';
import { soundFileName } from '../../../src/domain/round-sound.ts';
import { decodePathPart, type SteamId64, tryParseSteamId } from '../../../src/domain/steam-id.ts';
import { encodeJson } from '../../http/encoding.ts';
import type { Parameter } from '../../http/parameters.ts';
import { publicRoute } from '../../http/route.ts';
import { strictObject } from '../models.ts';
import { STEAM_ID_NOTATIONS } from '../parameters.ts';

const RoundSoundModel = t.Union(
  [
    strictObject({
      success: t.Literal(true),
      url: t.String({ examples: ['https://play.example.org/storage/roundsound/76561198000000001.mp3'] }),
      title: t.String({ description: 'The name of the uploaded file.', examples: ['my track.wav'] }),
    }),
    strictObject({ success: t.Literal(false), url: t.Null(), title: t.Null() }),
  ],
  { $id: 'RoundSound' },
);

/** Undefined for an invalid SteamID, which has no sound. */
const PLAYER_PARAMETER = {
  in: 'path',
  name: 'player',
  description: `${STEAM_ID_NOTATIONS}.`,
  example: '76561198000000001',
  parse: (text = '') => tryParseSteamId(decodePathPart(text)),
} as const satisfies Parameter<SteamId64 | undefined>;

type Deps = {
  /** Title of a player's published sound; read from memory, so that it outlives an outage of the database. */
  findSoundTitle: (steamId64: SteamId64) => string | undefined;
  publicUrl: string;
};

export const getRoundSound = publicRoute({
  path: '/players/:player/roundsound',
  id: 'getRoundSound',
  tag: 'Players',
  summary: "A player's round-end sound",
  description: 'Without a ready sound the status is 200 as well, with success false.',
  parameters: { steamId: PLAYER_PARAMETER },
  success: { model: RoundSoundModel },
  handle: ({ findSoundTitle, publicUrl }: Deps, { steamId }) => {
    const title = steamId && findSoundTitle(steamId);
    const body: Static<typeof RoundSoundModel> = title
      ? { success: true, url: `${publicUrl}/storage/roundsound/${soundFileName(steamId, 'stereo')}`, title }
      : { success: false, url: null, title: null };
    return encodeJson(body);
  },
});
