import { Elysia, type Static, t } from 'elysia';
import { readSteamId, type SteamId64 } from '../../src/steam-id.ts';
import { describe, ERRORS, MODELS } from '../docs.ts';
import { buildJsonBody } from '../json.ts';
import { PUBLIC_CACHE_CONTROL, type Routes } from '../routes.ts';

export const RoundSoundModel = t.Union(
  [
    t.Object(
      {
        success: t.Literal(true),
        url: t.String({ examples: ['https://play.example.org/storage/roundsound/76561198000000001.mp3'] }),
        title: t.String({ examples: ['my track.wav'] }),
      },
      { additionalProperties: false },
    ),
    t.Object({ success: t.Literal(false), url: t.Null(), title: t.Null() }, { additionalProperties: false }),
  ],
  { description: 'Specification 4.4' },
);

type Deps = {
  /** Title of a player's published sound; answered from memory, so that it outlives an outage of the database. */
  findTitle: (steamId64: SteamId64) => string | undefined;
  publicUrl: string;
};

/** Round-end sound lookup: specification 4.4. Anything that is no player with a ready sound is 200 `success: false`. */
export function roundSounds(routes: Routes, { findTitle, publicUrl }: Deps) {
  const present = (text: string): Static<typeof RoundSoundModel> => {
    const steamId = readSteamId(decode(text));
    const title = steamId && findTitle(steamId);
    if (!title) return { success: false, url: null, title: null };
    return { success: true, url: `${publicUrl}/storage/roundsound/${steamId}.mp3`, title };
  };
  return new Elysia().get(
    '/players/:player/roundsound',
    ({ request, server, params }) =>
      routes.open({ request, server }, () => ({
        body: buildJsonBody(present(params.player)),
        cacheControl: PUBLIC_CACHE_CONTROL,
      })),
    {
      detail: describe({
        tag: 'Players',
        summary: "A player's round-end sound",
        description: 'Without a ready sound the status is 200 as well, with success false.',
        parameters: [
          {
            in: 'path',
            name: 'player',
            description: 'SteamID64, STEAM_X:Y:Z or [U:1:N].',
            example: '76561198000000001',
          },
        ],
        answers: { 200: { model: MODELS.roundSound, isCached: true }, ...ERRORS.public },
      }),
    },
  );
}

/** The router leaves malformed percent signs as they are. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
