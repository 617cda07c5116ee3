import type { PenaltyType } from '../../../src/domain/penalty.ts';
import { formatTimestamp } from '../../../src/domain/text/timestamp.ts';
import { presentMute, presentPenalty, presentRecord } from '../../../src/events/penalty-payload.ts';
import type { PenaltyFilter } from '../../../src/queries/penalties/filter.ts';
import type { PenaltyPage } from '../../../src/queries/penalties/list.ts';
import type { Penalty } from '../../../src/queries/penalties/row.ts';
import type { ProtectedResponse } from '../../http/responses.ts';
import { protectedRoute } from '../../http/route.ts';
import { formatPageLinks, LINK_HEADER, type PenaltyListQuery } from './penalty-links.ts';
import { BanListModel, MuteListModel, PenaltyListModel, presentCounts } from './penalty-models.ts';
import {
  ADMIN_PARAMETER,
  FILTER_PARAMETERS,
  MUTE_TYPE_PARAMETER,
  PAGE_PARAMETERS,
  TYPE_PARAMETER,
} from './penalty-parameters.ts';

const LIST = { tag: 'Penalties', scope: 'penalties', failures: [] } as const;

export const listPenalties = protectedRoute({
  ...LIST,
  path: '/penalties',
  id: 'listPenalties',
  summary: 'Penalties of every type',
  parameters: {
    types: TYPE_PARAMETER,
    ...FILTER_PARAMETERS,
    adminSteamId: ADMIN_PARAMETER,
    ...PAGE_PARAMETERS,
  },
  success: { model: PenaltyListModel, headers: LINK_HEADER },
  handle: list('/penalties', { present: presentPenalty, hasCounts: true }),
});

export const listBans = protectedRoute({
  ...LIST,
  path: '/bans',
  id: 'listBans',
  summary: 'Bans',
  parameters: { ...FILTER_PARAMETERS, ...PAGE_PARAMETERS },
  success: { model: BanListModel, headers: LINK_HEADER },
  handle: list('/bans', { type: 'ban', present: presentRecord }),
});

export const listMutes = protectedRoute({
  ...LIST,
  path: '/mutes',
  id: 'listMutes',
  summary: 'Mutes, gags and silences',
  parameters: { types: MUTE_TYPE_PARAMETER, ...FILTER_PARAMETERS, ...PAGE_PARAMETERS },
  success: { model: MuteListModel, headers: LINK_HEADER },
  handle: list('/mutes', { present: presentMute }),
});

export const listWarnings = protectedRoute({
  ...LIST,
  path: '/warns',
  id: 'listWarnings',
  summary: 'Warnings',
  parameters: { ...FILTER_PARAMETERS, ...PAGE_PARAMETERS },
  success: { model: BanListModel, headers: LINK_HEADER },
  handle: list('/warns', { type: 'warn', present: presentRecord }),
});

type PageOptions = { page: number; perPage: number; now: Date };
type Deps = {
  listPenalties: (filter: PenaltyFilter, options: PageOptions) => Promise<PenaltyPage>;
  /** The base that the request came to, with the public origin. */
  baseUrl: string;
};
/** The differences between the lists. */
type Presentation = {
  /** The list's only type; undefined for all. */
  type?: PenaltyType;
  present: (penalty: Penalty) => unknown;
  hasCounts?: boolean;
};

/** The handler of a list. Never cached, since a status must be true at the time of the response. */
function list(path: string, { type, present, hasCounts = false }: Presentation) {
  return ({ listPenalties, baseUrl }: Deps) =>
    async (query: PenaltyListQuery, { now }: { now: Date }): Promise<ProtectedResponse> => {
      const { page, perPage, ...filter } = type ? { ...query, types: [type] } : query;
      const { rows, total, counts } = await listPenalties(filter, { page, perPage, now });
      const lastPage = Math.max(Math.ceil(total / perPage), 1);
      const meta = {
        current_page: page,
        total,
        per_page: perPage,
        last_page: lastPage,
        counts: hasCounts ? presentCounts(counts) : undefined,
        cached_at: formatTimestamp(now),
      };
      return {
        headers: { Link: formatPageLinks(`${baseUrl}${path}`, query, lastPage) },
        json: { success: true, data: rows.map(present), meta },
      };
    };
}
