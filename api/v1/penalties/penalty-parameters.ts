import { InvalidInput } from '../../../src/domain/errors.ts';
import {
  MUTE_TYPES,
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyType,
  POLISH_STATUSES,
  parsePenaltyStatus,
  parsePenaltyType,
  parsePenaltyTypes,
} from '../../../src/domain/penalty.ts';
import { hasCommonYear, lastMomentOf, tryParseTime } from '../../../src/domain/text/timestamp.ts';
import type { PenaltyFilter } from '../../../src/queries/penalties/filter.ts';
import { REASON_LENGTH } from '../../../src/queries/penalties/filter.ts';
import type { PageOptions } from '../../../src/queries/penalties/list.ts';
import { PENALTY_SORTS } from '../../../src/queries/penalties/row.ts';
import type { OtherKeys } from '../../http/near-misses.ts';
import { optional, type Parameter } from '../../http/parameters.ts';
import { integerParameter, limitParameter, positiveOr, refuse, steamIdParameter } from '../parameters.ts';

export const MAX_PER_PAGE = 100;
/** Higher pages are clamped to this one, which is past the end and within PostgreSQL's bigint. */
const LAST_PAGE = 1_000_000_000_000;

const POLISH_WORDS = Object.values(POLISH_STATUSES);
/** In ASCII: clients and proxies exist that cannot handle an enum with other letters. */
const STATUS_VALUES = [...PENALTY_STATUSES, ...POLISH_WORDS.map((word) => word.replaceAll('ł', 'l'))];

/** The parsed query of a list. */
export type PenaltyListQuery = PenaltyFilter & Omit<PageOptions, 'now'>;

/** Everything that `/penalties` takes: specification 4.3, and its extensions. The other lists and the export take less. */
export const LIST_PARAMETERS = {
  types: {
    ...typeParameter(PENALTY_TYPES),
    description: `${PENALTY_TYPES.join(', ')}, or several of them separated by commas, in any letter case; all of them by default.`,
    schema: { type: 'string' },
    parse: optional((text) => parsePenaltyTypes(text)),
  },
  status: {
    name: 'status',
    description: `${PENALTY_STATUSES.join(', ')}, or ${POLISH_WORDS.join(', ')}; in any letter case, with \`ł\` or \`l\`.`,
    schema: { type: 'string', enum: STATUS_VALUES },
    example: PENALTY_STATUSES[0],
    refused: 'open',
    aliases: ['state'],
    parse: optional(parsePenaltyStatus),
  },
  serverId: integerParameter({
    name: 'server_id',
    description: 'The server; 0 for records without one.',
    aliases: ['server'],
    minimum: 0,
    maximum: 0x7fff_ffff,
    example: 3,
  }),
  playerSteamId: steamIdParameter({
    name: 'steamid',
    description: 'The player',
    aliases: ['player', 'player_id', 'player_steamid', 'player_steamid64'],
    example: '76561198000000001',
  }),
  adminSteamId: steamIdParameter({
    name: 'admin_steamid',
    description: 'The admin',
    aliases: ['admin', 'admin_id', 'admin_steamid64'],
    example: '76561198000000900',
  }),
  createdFrom: timeParameter('created_from', {
    description: 'Created then or later',
    aliases: ['from', 'since'],
    read: ({ time }) => time,
  }),
  createdTo: timeParameter('created_to', {
    description: 'Created on that date or before, or before that timestamp',
    aliases: ['to', 'until'],
    // Penalties are created in whole seconds.
    read: ({ time, isDate }) => (isDate ? lastMomentOf(time) : time),
  }),
  reason: {
    name: 'reason',
    description: `Part of the reason, ${REASON_LENGTH.minimum} to ${REASON_LENGTH.maximum} characters; the letter case of ASCII letters is ignored.`,
    example: 'wallhack',
    refused: 'wh',
    aliases: [],
    parse: optional(parseReason),
  },
  sort: {
    name: 'sort',
    description:
      'By `created` or `ends`, with `-` descending: `-created` by default. Permanent penalties are last by `ends` either way; those of the same time are sorted by id in the same direction.',
    schema: { type: 'string', enum: PENALTY_SORTS },
    example: '-ends',
    refused: 'newest',
    aliases: ['order'],
    parse: optional(
      (text) => PENALTY_SORTS.find((sort) => sort === text) ?? refuse('sort', text, PENALTY_SORTS.join(', ')),
    ),
  },
  // Never rejected: anything but a positive whole number means the default.
  perPage: limitParameter('per_page', { what: 'Records per page', defaultLimit: 50, maximum: MAX_PER_PAGE }),
  page: {
    name: 'page',
    description:
      'The page. One past the end has no records; anything but a positive whole number counts as 1.',
    schema: { type: 'integer', minimum: 1, default: 1 },
    example: 1,
    parse: (text: string | undefined) => Math.min(positiveOr(text, 1), LAST_PAGE),
  },
} as const satisfies Record<keyof PenaltyListQuery, Parameter>;

const { types: _types, adminSteamId: _adminSteamId, ...SHARED_PARAMETERS } = LIST_PARAMETERS;
const { sort, perPage, page, ...EXPORT_PARAMETERS } = LIST_PARAMETERS;

export { EXPORT_PARAMETERS, SHARED_PARAMETERS };

export const MUTE_TYPE_PARAMETER = {
  ...typeParameter(MUTE_TYPES),
  parse: optional((text) => [parsePenaltyType(text, MUTE_TYPES)]),
} as const satisfies Parameter;

const SEARCH_KEYS: OtherKeys = {
  name: '/players/search',
  aliases: ['q', 'search', 'name', 'player_name'],
};
const PAGE_KEYS: readonly OtherKeys[] = [
  { name: perPage.name, aliases: ['limit', 'per-page'] },
  { name: page.name, aliases: ['offset'] },
];

/** What other APIs call what the lists have. */
export const LIST_KEYS: readonly OtherKeys[] = [SEARCH_KEYS, ...PAGE_KEYS];
/** The same for the export, which has neither pages nor orders. */
export const EXPORT_KEYS: readonly OtherKeys[] = [
  SEARCH_KEYS,
  ...[...PAGE_KEYS, sort].map(({ name, aliases }) => ({ name: `${name} of /penalties`, aliases })),
];

/** @throws {InvalidInput} for a period that begins after its end. */
export function requirePeriod({ createdFrom, createdTo }: PenaltyFilter): void {
  if (createdFrom && createdTo && createdFrom > createdTo)
    throw new InvalidInput('created_from is after created_to: use an earlier created_from');
}

function typeParameter(types: readonly [PenaltyType, ...PenaltyType[]]) {
  return {
    name: 'type',
    description: `${types.join(', ')}, in any letter case; all of them by default.`,
    schema: { type: 'string', enum: types },
    example: types[0],
    refused: 'kick',
    aliases: ['penalty_type'],
  } as const;
}

type TimeOptions = {
  description: string;
  aliases: readonly string[];
  read: (moment: { time: Date; isDate: boolean }) => Date;
};

/** A date or a timestamp with offset. */
function timeParameter(
  name: string,
  { description, aliases, read }: TimeOptions,
): Parameter<Date | undefined> {
  return {
    name,
    description: `${description}: an ISO 8601 date (UTC), or a timestamp with offset.`,
    example: '2026-11-21',
    refused: 'yesterday',
    aliases,
    parse: optional((text) => {
      // In a query, a `+` that is not encoded means a space.
      const moment = tryParseTime(text.replace(/ (?=[0-9:]*$)/, '+'));
      return moment && (moment.isDate || moment.hasZone) && hasCommonYear(moment.time)
        ? read(moment)
        : refuse(name, text, 'a date (2026-11-21) or a timestamp with offset (2026-11-21T10:00:00+00:00)');
    }),
  };
}

function parseReason(text: string): string {
  const { minimum, maximum } = REASON_LENGTH;
  const { length } = [...text];
  // PostgreSQL has no text with NUL.
  if (length >= minimum && length <= maximum && !text.includes('\0')) return text;
  return refuse('reason', text, `${minimum} to ${maximum} characters, without NUL`);
}
