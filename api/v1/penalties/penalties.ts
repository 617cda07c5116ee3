import type { Reads } from '../../../src/db/client.ts';
import { MUTE_TYPES, type PenaltyType } from '../../../src/domain/penalty.ts';
import { formatTimestamp } from '../../../src/domain/text/timestamp.ts';
import { presentMute, presentPenalty, presentRecord } from '../../../src/events/penalty-payload.ts';
import { listPenalties as listPage } from '../../../src/queries/penalties/list.ts';
import type { Penalty } from '../../../src/queries/penalties/row.ts';
import type { ProtectedResponse } from '../../http/responses.ts';
import { type DocumentedHeader, protectedRoute } from '../../http/route-definition.ts';
import { BanListModel, MuteListModel, PenaltyListModel } from './penalty-models.ts';
import {
  LIST_KEYS,
  LIST_PARAMETERS,
  MUTE_TYPE_PARAMETER,
  type PenaltyListQuery,
  requirePeriod,
  SHARED_PARAMETERS,
} from './penalty-parameters.ts';

const LINK_HEADER: Record<'Link', DocumentedHeader> = {
  Link: {
    description:
      'The `first`, `prev`, `next` and `last` page, with the same filters and without the token. There is no `prev` on the first page and no `next` on the last; past the end, `prev` is the last page.',
    schema: { type: 'string', pattern: '^<https?://[^>]+>; rel="first"' },
    example:
      '<https://play.example.org/api/v1/bans?per_page=50&page=1>; rel="first", <https://play.example.org/api/v1/bans?per_page=50&page=2>; rel="next", <https://play.example.org/api/v1/bans?per_page=50&page=3>; rel="last"',
  },
};

const LIST = { tag: 'Penalties', scope: 'penalties', otherKeys: LIST_KEYS } as const;

export const listPenalties = protectedRoute({
  ...LIST,
  path: '/penalties',
  id: 'listPenalties',
  summary: 'Penalties of every type',
  parameters: LIST_PARAMETERS,
  success: { model: PenaltyListModel, headers: LINK_HEADER },
  handle: list('/penalties', { present: presentPenalty, hasCounts: true }),
});

export const listBans = protectedRoute({
  ...LIST,
  path: '/bans',
  id: 'listBans',
  summary: 'Bans',
  parameters: SHARED_PARAMETERS,
  success: { model: BanListModel, headers: LINK_HEADER },
  handle: list('/bans', { types: ['ban'], present: presentRecord }),
});

export const listMutes = protectedRoute({
  ...LIST,
  path: '/mutes',
  id: 'listMutes',
  summary: 'Mutes, gags and silences',
  parameters: { types: MUTE_TYPE_PARAMETER, ...SHARED_PARAMETERS },
  success: { model: MuteListModel, headers: LINK_HEADER },
  handle: list('/mutes', { types: MUTE_TYPES, present: presentMute }),
});

export const listWarnings = protectedRoute({
  ...LIST,
  path: '/warns',
  id: 'listWarnings',
  summary: 'Warnings',
  parameters: SHARED_PARAMETERS,
  success: { model: BanListModel, headers: LINK_HEADER },
  handle: list('/warns', { types: ['warn'], present: presentRecord }),
});

type Deps = {
  reads: Reads;
  /** The base that the request came to, with the public origin. */
  baseUrl: string;
};
/** The differences between the lists. */
type Presentation = {
  /** The types that it lists unless it is asked for fewer; undefined for all. */
  types?: readonly PenaltyType[];
  present: (penalty: Penalty) => unknown;
  hasCounts?: boolean;
};

/** The handler of a list. Never cached, since a status must be true at the time of the response. */
function list(path: string, { types, present, hasCounts = false }: Presentation) {
  return async (
    { reads, baseUrl }: Deps,
    query: PenaltyListQuery,
    { now }: { now: Date },
  ): Promise<ProtectedResponse> => {
    requirePeriod(query);
    const { page, perPage, sort, ...filter } = { ...query, types: query.types ?? types };
    const { rows, total, counts } = await listPage(reads, filter, { page, perPage, sort, now });
    const lastPage = Math.max(Math.ceil(total / perPage), 1);
    const meta = {
      current_page: page,
      total,
      per_page: perPage,
      last_page: lastPage,
      counts: hasCounts ? counts : undefined,
      cached_at: formatTimestamp(now),
    };
    return {
      headers: { Link: formatPageLinks(`${baseUrl}${path}`, query, lastPage) },
      json: { success: true, data: rows.map(present), meta },
    };
  };
}

/**
 * The `Link` header of a page: RFC 8288. Filters are written in canonical form, however they were given.
 * @param address of the list, without a query.
 */
function formatPageLinks(address: string, { page, ...query }: PenaltyListQuery, lastPage: number): string {
  const others = formatQuery(query);
  const pages = {
    first: 1,
    prev: page > 1 ? Math.min(page - 1, lastPage) : undefined,
    next: page < lastPage ? page + 1 : undefined,
    last: lastPage,
  };
  return Object.entries(pages)
    .filter(([, number]) => number !== undefined)
    .map(([rel, number]) => `<${address}?${others}&page=${number}>; rel="${rel}"`)
    .join(', ');
}

function formatQuery(query: Partial<PenaltyListQuery>): string {
  const parameters = new URLSearchParams();
  for (const [key, { name }] of Object.entries(LIST_PARAMETERS)) {
    const value = query[key as keyof PenaltyListQuery];
    if (value !== undefined)
      parameters.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return parameters.toString();
}
