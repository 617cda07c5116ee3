import { type Static, t } from 'elysia';
import { type Rendition, soundFileName } from '../../../src/domain/round-sound.ts';
import { decodePathPart, type SteamId64, tryParseSteamId } from '../../../src/domain/steam-id.ts';
import { formatTimestamp } from '../../../src/domain/text/timestamp.ts';
import type { PublishedFile, PublishedRoundSound } from '../../../src/queries/round-sounds/round-sounds.ts';
import { DATABASE_BUSY, DATABASE_OUTAGE } from '../../http/documented-failures.ts';
import { encodeJson } from '../../http/encoding.ts';
import type { Parameter } from '../../http/parameters.ts';
import { publicRoute } from '../../http/route-definition.ts';
import { idsOf, STEAM_IDS_PARAMETER } from '../id-lists.ts';
import { count, namedObject, SteamId64Model, strictObject, successModel, TimestampModel } from '../models.ts';
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

const sha256 = t.String({
  pattern: '^[0-9a-f]{64}$',
  description: 'SHA-256 of the file, in hexadecimal.',
  examples: ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'],
});
const url = (suffix: string) =>
  t.String({
    description: 'Changes whenever the file does, so a file fetched once need not be fetched again.',
    examples: [`https://play.example.org/storage/roundsound/76561198000000001${suffix}?v=9f86d081884c7d65`],
  });

const SoundModel = namedObject(
  'PublishedSound',
  {
    steamid64: SteamId64Model,
    has_sound: t.Literal(true),
    title: t.String({ description: 'The name of the uploaded file.', examples: ['track.mp3'] }),
    url: url('.mp3'),
    voice_url: t.Optional(url('.voice.mp3')),
    duration_ms: count(4200),
    size_bytes: count(101_234),
    voice_size_bytes: t.Optional(count(50_617)),
    sha256,
    voice_sha256: t.Optional(sha256),
    loudness_lufs: t.Number({ description: 'Integrated loudness of the stereo file.', examples: [-18] }),
    updated_at: TimestampModel,
  },
  'The `voice_` fields are about the mono file for plugins, and absent until that file exists.',
);
const NoSoundModel = namedObject('NoSound', { steamid64: SteamId64Model, has_sound: t.Literal(false) });

type BatchDeps = {
  listPublishedSounds: (players: readonly SteamId64[]) => Promise<PublishedRoundSound[]>;
  publicUrl: string;
  now: () => Date;
};

/** For a game server at the start of a map. */
export const listRoundSounds = publicRoute({
  path: '/players/roundsounds',
  id: 'listRoundSounds',
  tag: 'Players',
  summary: 'The round-end sounds of up to 100 players',
  description:
    'For plugins that fetch the sounds of everybody on a server. The ETag changes only when `data` does. Counts as one request.',
  isExtension: true,
  parameters: { players: STEAM_IDS_PARAMETER },
  success: {
    model: successModel('RoundSoundList', {
      data: t.Array(t.Union([SoundModel, NoSoundModel]), { description: 'In the order of the request.' }),
      meta: strictObject({
        requested: t.Integer({ minimum: 1, description: 'Distinct players asked for.', examples: [2] }),
        found: count(1, 'Of these, players with a sound.'),
        cached_at: TimestampModel,
      }),
    }),
  },
  failures: [DATABASE_BUSY, DATABASE_OUTAGE],
  handle: async ({ listPublishedSounds, publicUrl, now }: BatchDeps, { players }) => {
    const publishedSounds = await listPublishedSounds(idsOf(players));
    const sounds = new Map(publishedSounds.map((sound) => [sound.steamId64, presentSound(sound, publicUrl)]));
    const data = players.map(({ id }) => sounds.get(id) ?? { steamid64: id, has_sound: false as const });
    const meta = { requested: data.length, found: sounds.size, cached_at: formatTimestamp(now()) };
    return encodeJson({ success: true, data, meta });
  },
});

function presentSound(sound: PublishedRoundSound, publicUrl: string): Static<typeof SoundModel> {
  const { steamId64: id, stereo, voice } = sound;
  const urlOf = (rendition: Rendition, { version }: PublishedFile) =>
    `${publicUrl}/storage/roundsound/${soundFileName(id, rendition)}?v=${version}`;
  return {
    steamid64: id,
    has_sound: true,
    title: sound.title,
    url: urlOf('stereo', stereo),
    ...(voice && { voice_url: urlOf('voice', voice) }),
    duration_ms: sound.durationMs,
    size_bytes: stereo.sizeBytes,
    ...(voice && { voice_size_bytes: voice.sizeBytes }),
    sha256: stereo.sha256,
    ...(voice && { voice_sha256: voice.sha256 }),
    loudness_lufs: sound.loudnessLufs,
    updated_at: formatTimestamp(sound.updatedAt),
  };
}
