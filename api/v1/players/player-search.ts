import { type Static, t } from 'elysia';
import type { Reads } from '../../../src/db/client.ts';
import { InvalidInput } from '../../../src/domain/errors.ts';
import { foldText } from '../../../src/domain/text/fold-text.ts';
import { formatTimestamp } from '../../../src/domain/text/timestamp.ts';
import { type FoundPlayer, searchPlayers as search } from '../../../src/queries/player-search.ts';
import type { Parameter } from '../../http/parameters.ts';
import { protectedRoute } from '../../http/route-definition.ts';
import { count, namedObject, nullable, successModel, TimestampModel } from '../models.ts';
import { refuse } from '../parameters.ts';

const MAX_FOUND = 25;
/** In characters. A shorter text would not use the index of names. */
const MIN_LENGTH = 3;
const MAX_LENGTH = 64;

const FoundPlayerModel = namedObject('FoundPlayer', {
  steamid64: t.String({ pattern: '^[0-9]{1,20}$', examples: ['76561198000000001'] }),
  name: t.String({ description: 'The latest known name.', examples: ['Rzeźnik'] }),
  matched_name: t.String({ description: 'The name that was found.', examples: ['rzeznik2010'] }),
  penalties: count(4, 'Number of all their penalties.'),
  is_banned: t.Boolean({ description: 'An active ban exists.', examples: [false] }),
  last_seen_at: nullable(TimestampModel, 'The newest penalty or sign-in; null when there is neither.'),
});
const FoundPlayersModel = successModel('FoundPlayers', {
  data: t.Array(FoundPlayerModel, { maxItems: MAX_FOUND, description: 'Best matches first.' }),
});

const NAME_PARAMETER = {
  name: 'name',
  description: `Part of a name, ${MIN_LENGTH} to ${MAX_LENGTH} characters; letter case and diacritics are ignored.`,
  example: 'rzez',
  isRequired: true,
  refused: 'rz',
  parse: parseName,
} as const satisfies Parameter<string>;

export const searchPlayers = protectedRoute({
  path: '/players/search',
  id: 'searchPlayers',
  tag: 'Players',
  summary: `Up to ${MAX_FOUND} players by part of a name`,
  description:
    'Searches names in penalties and nicknames of users. Players with exactly this name come first, then those seen most recently.',
  isExtension: true,
  scope: 'lookup',
  parameters: { name: NAME_PARAMETER },
  success: { model: FoundPlayersModel },
  handle: async ({ reads }: { reads: Reads }, { name }, { now }) => {
    const players = await search(reads, name, { limit: MAX_FOUND, now });
    return {
      json: { success: true, data: players.map(present) } satisfies Static<typeof FoundPlayersModel>,
    };
  },
});

function present(player: FoundPlayer): Static<typeof FoundPlayerModel> {
  return {
    steamid64: player.steamId64,
    name: player.name,
    matched_name: player.matchedName,
    penalties: player.penalties,
    is_banned: player.isBanned,
    last_seen_at: player.lastSeenAt && formatTimestamp(player.lastSeenAt),
  };
}

/** Parses a name in Unicode form NFC; characters that the search ignores do not count towards its length. */
function parseName(text = ''): string {
  const name = text.trim().normalize('NFC');
  const { length } = [...name];
  const isLongEnough = length >= MIN_LENGTH && [...foldText(name).trim()].length >= MIN_LENGTH;
  if (isLongEnough && length <= MAX_LENGTH && !name.includes('\0')) return name;
  const format = `a part of a name, ${MIN_LENGTH} to ${MAX_LENGTH} characters`;
  if (text === '') throw new InvalidInput(`name is missing: give ${format}`);
  return refuse('name', text, name.includes('\0') ? `${format}, without NUL` : format);
}
