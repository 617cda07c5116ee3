import {
  MUTE_TYPES,
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyType,
  POLISH_STATUSES,
  parsePenaltyStatus,
  parsePenaltyType,
} from '../../../src/domain/penalty.ts';
import { optional, type Parameter } from '../../http/parameters.ts';
import { integerParameter, limitParameter, positiveOr, steamIdParameter } from '../parameters.ts';

export const MAX_PER_PAGE = 100;
/** Higher pages are clamped to this one, which is past the end and within PostgreSQL's bigint. */
const LAST_PAGE = 1_000_000_000_000;

const POLISH_WORDS = Object.values(POLISH_STATUSES);
/** In ASCII: clients and proxies exist that cannot handle an enum with other letters. */
const STATUS_VALUES = [...PENALTY_STATUSES, ...POLISH_WORDS.map((word) => word.replaceAll('ł', 'l'))];

/** The filters that all lists take: specification 4.3. */
export const FILTER_PARAMETERS = {
  status: {
    id: 'status',
    in: 'query',
    name: 'status',
    description: `${PENALTY_STATUSES.join(', ')}, or ${POLISH_WORDS.join(', ')}; in any letter case, with \`ł\` or \`l\`.`,
    schema: { type: 'string', enum: STATUS_VALUES },
    example: PENALTY_STATUSES[0],
    refused: 'open',
    aliases: ['state'],
    parse: optional(parsePenaltyStatus),
  },
  serverId: integerParameter(
    {
      id: 'server_id',
      name: 'server_id',
      description: 'The server; 0 for records without one.',
      aliases: ['server'],
    },
    { minimum: 0, maximum: 0x7fff_ffff, example: 3 },
  ),
  playerSteamId: steamIdParameter(
    {
      id: 'steamid',
      name: 'steamid',
      description: 'The player',
      aliases: ['player', 'player_id', 'player_steamid', 'player_steamid64'],
    },
    { example: '76561198000000001' },
  ),
} as const satisfies Record<string, Parameter>;

export const ADMIN_PARAMETER = steamIdParameter(
  {
    id: 'admin_steamid',
    name: 'admin_steamid',
    description: 'The admin',
    aliases: ['admin', 'admin_id', 'admin_steamid64'],
  },
  { example: '76561198000000900' },
);

/** Never rejected: anything but a positive whole number means the default. */
export const PAGE_PARAMETERS = {
  perPage: limitParameter('per_page', { what: 'Records per page', byDefault: 50, maximum: MAX_PER_PAGE }),
  page: {
    id: 'page',
    in: 'query',
    name: 'page',
    description:
      'The page. One past the end has no records; anything but a positive whole number counts as 1.',
    schema: { type: 'integer', minimum: 1, default: 1 },
    example: 1,
    parse: (text: string | undefined) => Math.min(positiveOr(text, 1), LAST_PAGE),
  },
} as const satisfies Record<string, Parameter>;

export const TYPE_PARAMETER = typeParameter('penaltyType', PENALTY_TYPES, { absent: undefined });
export const MUTE_TYPE_PARAMETER = typeParameter('muteType', MUTE_TYPES, { absent: MUTE_TYPES });

type Types = readonly [PenaltyType, ...PenaltyType[]];

/** @param absent the filter when the parameter is absent; undefined gives the fastest query for all types. */
function typeParameter(id: string, types: Types, { absent }: { absent: Types | undefined }) {
  return {
    id,
    in: 'query',
    name: 'type',
    description: `${types.join(', ')}, in any letter case; all of them by default.`,
    schema: { type: 'string', enum: types },
    example: types[0],
    refused: 'kick',
    aliases: ['penalty_type'],
    parse: (text: string | undefined) => (text === undefined ? absent : [parsePenaltyType(text, types)]),
  } as const satisfies Parameter<readonly PenaltyType[] | undefined>;
}
