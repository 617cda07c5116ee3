import { Elysia, type Static, t } from 'elysia';
import { soundFileName } from '../../../src/domain/round-sound.ts';
import { type SteamId64, tryParseSteamId } from '../../../src/domain/steam-id.ts';
import { buildJsonBody } from '../../http/json.ts';
import type { Parameter } from '../../http/parameters.ts';
import type { Routes } from '../../http/routes.ts';
import { describeOperation } from '../../openapi/describe.ts';
import type { Operation } from '../../openapi/operation.ts';
import { STRICT } from '../models.ts';
import { decodePathPart, STEAM_ID_NOTATIONS } from '../parameters.ts';

const RoundSoundModel = t.Union(
  [
    t.Object(
      {
        success: t.Literal(true),
        url: t.String({ examples: ['https://play.example.org/storage/roundsound/76561198000000001.mp3'] }),
        title: t.String({ description: 'The name of the uploaded file.', examples: ['my track.wav'] }),
      },
      STRICT,
    ),
    t.Object({ success: t.Literal(false), url: t.Null(), title: t.Null() }, STRICT),
  ],
  { $id: 'RoundSound' },
);

/** Undefined for an invalid SteamID, which has no sound. */
const PLAYER_PARAMETER = {
  id: 'player',
  in: 'path',
  name: 'player',
  description: `${STEAM_ID_NOTATIONS}.`,
  schema: { type: 'string' },
  example: '76561198000000001',
  parse: (text = '') => tryParseSteamId(decodePathPart(text)),
} as const satisfies Parameter<SteamId64 | undefined>;

const GET_ROUND_SOUND = {
  id: 'getRoundSound',
  tag: 'Players',
  summary: "A player's round-end sound",
  description: 'Without a ready sound the status is 200 as well, with success false.',
  policy: 'public',
  parameters: { steamId: PLAYER_PARAMETER },
  success: { model: RoundSoundModel },
  failures: [],
} satisfies Operation;

export const ROUND_SOUND_OPERATIONS: readonly Operation[] = [GET_ROUND_SOUND];

type Deps = {
  /** Title of a player's published sound; read from memory, so that it outlives an outage of the database. */
  findTitle: (steamId64: SteamId64) => string | undefined;
  publicUrl: string;
};

/** Round-end sound lookup: specification 4.4. */
export function roundSounds(routes: Routes, { findTitle, publicUrl }: Deps) {
  const present = (steamId: SteamId64 | undefined): Static<typeof RoundSoundModel> => {
    const title = steamId && findTitle(steamId);
    if (!title) return { success: false, url: null, title: null };
    return {
      success: true,
      url: `${publicUrl}/storage/roundsound/${soundFileName(steamId, 'stereo')}`,
      title,
    };
  };
  return new Elysia().get(
    '/players/:player/roundsound',
    ({ request, server, params }) =>
      routes.handlePublic({ request, server, params }, GET_ROUND_SOUND, ({ steamId }) =>
        buildJsonBody(present(steamId)),
      ),
    { detail: describeOperation(GET_ROUND_SOUND) },
  );
}
