import { Elysia } from 'elysia';
import type { PenaltyType } from '../../../src/domain/penalty.ts';
import { formatTimestamp } from '../../../src/domain/text/timestamp.ts';
import { presentMute, presentPenalty, presentRecord } from '../../../src/events/penalty-payload.ts';
import type { PenaltyFilter } from '../../../src/queries/penalties/filter.ts';
import type { PenaltyPage } from '../../../src/queries/penalties/list.ts';
import type { Penalty } from '../../../src/queries/penalties/row.ts';
import type { ProtectedResponse } from '../../http/responses.ts';
import type { Routes } from '../../http/routes.ts';
import { describeOperation } from '../../openapi/describe.ts';
import type { Operation } from '../../openapi/operation.ts';
import { formatPageLinks, LINK_HEADER, type PenaltyListQuery } from './penalty-links.ts';
import { BanListModel, MuteListModel, PenaltyListModel, presentCounts } from './penalty-models.ts';
import {
  ADMIN_PARAMETER,
  FILTER_PARAMETERS,
  MUTE_TYPE_PARAMETER,
  PAGE_PARAMETERS,
  TYPE_PARAMETER,
} from './penalty-parameters.ts';

const LIST = { tag: 'Penalties', policy: 'protected', scope: 'penalties', failures: [] } as const;

const LIST_PENALTIES = {
  ...LIST,
  id: 'listPenalties',
  summary: 'Penalties of every type',
  parameters: {
    types: TYPE_PARAMETER,
    ...FILTER_PARAMETERS,
    adminSteamId: ADMIN_PARAMETER,
    ...PAGE_PARAMETERS,
  },
  success: { model: PenaltyListModel, headers: LINK_HEADER },
} satisfies Operation;

const LIST_BANS = {
  ...LIST,
  id: 'listBans',
  summary: 'Bans',
  parameters: { ...FILTER_PARAMETERS, ...PAGE_PARAMETERS },
  success: { model: BanListModel, headers: LINK_HEADER },
} satisfies Operation;

const LIST_MUTES = {
  ...LIST,
  id: 'listMutes',
  summary: 'Mutes, gags and silences',
  parameters: { types: MUTE_TYPE_PARAMETER, ...FILTER_PARAMETERS, ...PAGE_PARAMETERS },
  success: { model: MuteListModel, headers: LINK_HEADER },
} satisfies Operation;

const LIST_WARNINGS = {
  ...LIST,
  id: 'listWarnings',
  summary: 'Warnings',
  parameters: { ...FILTER_PARAMETERS, ...PAGE_PARAMETERS },
  success: { model: BanListModel, headers: LINK_HEADER },
} satisfies Operation;

export const PENALTY_OPERATIONS: readonly Operation[] = [
  LIST_PENALTIES,
  LIST_BANS,
  LIST_MUTES,
  LIST_WARNINGS,
];

type PageOptions = { page: number; perPage: number; now: Date };
type Deps = {
  listPenalties: (filter: PenaltyFilter, options: PageOptions) => Promise<PenaltyPage>;
  /** The base address of these routes, with the public origin. */
  baseUrl: string;
};
/** The differences between the lists. */
type Presentation = {
  /** The list's only type; undefined for all. */
  type?: PenaltyType;
  present: (penalty: Penalty) => unknown;
  hasCounts?: boolean;
};

/** Penalty lists: specification 4.2 and 4.3. Never cached, since a status must be true at the time of the response. */
export function penalties(routes: Routes, { listPenalties, baseUrl }: Deps) {
  async function list(
    path: string,
    given: PenaltyListQuery,
    now: Date,
    { type, present, hasCounts = false }: Presentation,
  ): Promise<ProtectedResponse> {
    const { page, perPage, ...filter } = type ? { ...given, types: [type] } : given;
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
      headers: { Link: formatPageLinks(`${baseUrl}${path}`, given, lastPage) },
      json: { success: true, data: rows.map(present), meta },
    };
  }

  return new Elysia()
    .get(
      '/penalties',
      ({ request, server }) =>
        routes.handleProtected({ request, server }, LIST_PENALTIES, (given, { now }) =>
          list('/penalties', given, now, { present: presentPenalty, hasCounts: true }),
        ),
      { detail: describeOperation(LIST_PENALTIES) },
    )
    .get(
      '/bans',
      ({ request, server }) =>
        routes.handleProtected({ request, server }, LIST_BANS, (given, { now }) =>
          list('/bans', given, now, { type: 'ban', present: presentRecord }),
        ),
      { detail: describeOperation(LIST_BANS) },
    )
    .get(
      '/mutes',
      ({ request, server }) =>
        routes.handleProtected({ request, server }, LIST_MUTES, (given, { now }) =>
          list('/mutes', given, now, { present: presentMute }),
        ),
      { detail: describeOperation(LIST_MUTES) },
    )
    .get(
      '/warns',
      ({ request, server }) =>
        routes.handleProtected({ request, server }, LIST_WARNINGS, (given, { now }) =>
          list('/warns', given, now, { type: 'warn', present: presentRecord }),
        ),
      { detail: describeOperation(LIST_WARNINGS) },
    );
}
