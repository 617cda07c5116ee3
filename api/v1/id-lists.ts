import { InvalidInput } from '../../src/domain/errors.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { splitList } from '../../src/domain/text/list.ts';
import { optional, type Parameter } from '../http/parameters.ts';
import { parseDiscordId, parseSteamIdOf, STEAM_ID_NOTATIONS } from './parameters.ts';

/** The maximum number of ids in one request. */
const MAX_IDS = 100;

/** An id of a request, and its first spelling there. */
export type AskedId<Id extends string = string> = { id: Id; query: string };

const LIST = `1 to ${MAX_IDS}, separated by commas; spaces and empty elements are ignored, and duplicates count once`;

/** The players that a request is about. */
export const STEAM_IDS_PARAMETER = {
  name: 'steamids',
  description: `The players: ${LIST}. ${STEAM_ID_NOTATIONS}.`,
  example: '76561198000000001,76561198000000002',
  isRequired: true,
  refused: 'nobody',
  parse: (text: string | undefined) => parseIds('steamids', text ?? '', parseSteamIdOf),
} as const satisfies Parameter<AskedId<SteamId64>[]>;

/** The same list, optional where another list may be given instead. */
export const OPTIONAL_STEAM_IDS_PARAMETER = {
  ...STEAM_IDS_PARAMETER,
  isRequired: false,
  parse: optional(STEAM_IDS_PARAMETER.parse),
} as const satisfies Parameter<AskedId<SteamId64>[] | undefined>;

export const OPTIONAL_DISCORD_IDS_PARAMETER = {
  name: 'discord_ids',
  description: `Discord ids: ${LIST}.`,
  example: '80351110224678912,80351110224678913',
  refused: 'nobody',
  parse: optional((text) => parseIds('discord_ids', text, parseDiscordId)),
} as const satisfies Parameter<AskedId[] | undefined>;

/** Only the ids, for a query. */
export function idsOf<Id extends string>(entries: readonly AskedId<Id>[]): Id[] {
  return entries.map(({ id }) => id);
}

/**
 * Parses a list of ids, without duplicates, in the order of their first occurrence.
 * @param parse parses one id; `name` is the parameter's, for errors.
 * @throws {InvalidInput} for an invalid id, an empty list and too many ids.
 */
function parseIds<Id extends string>(
  name: string,
  text: string,
  parse: (name: string, text: string) => Id,
): AskedId<Id>[] {
  const entries = new Map<Id, AskedId<Id>>();
  for (const query of splitList(text)) {
    const id = parse(name, query);
    if (!entries.has(id)) entries.set(id, { id, query });
  }
  if (entries.size === 0)
    throw new InvalidInput(`${name} has no ids: use 1 to ${MAX_IDS}, separated by commas`);
  if (entries.size > MAX_IDS) throw new InvalidInput(`${name} has ${entries.size} ids: use 1 to ${MAX_IDS}`);
  return [...entries.values()];
}
