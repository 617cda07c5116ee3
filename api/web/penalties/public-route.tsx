import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import { PENALTY_STATUSES, PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import type { Site } from '../layout/layout.tsx';
import { readSearchText } from '../layout/search-form.tsx';
import { tryParseRowId } from '../request/numbers.ts';
import type { Visit } from '../request/visit.ts';
import type { PublicRoute } from '../status/status-routes.tsx';
import { findNamedPlayer } from './player-choice.tsx';
import { type PublicFilter, PublicPenaltiesPage } from './public-page.tsx';

const PENALTIES_PER_PAGE = 25;

/** The route of the public penalty list; empty unless `PUBLIC_PENALTIES` enables it. */
export function publicPenaltyRoutes(deps: { db: Db; site: Site }): PublicRoute[] {
  if (!deps.site.arePenaltiesPublic) return [];
  return [{ path: '/penalties', prepare: () => (visit) => showPenalties(deps, visit) }];
}

async function showPenalties({ db, site }: { db: Db; site: Site }, visit: Visit): Promise<JSX.Element> {
  const { now } = visit;
  const filter = readFilter(visit.url.searchParams);
  // Nicknames of accounts are not public.
  const subject = await findNamedPlayer(db, filter.query, { now, scope: 'penaltyNames' });
  const found = subject.hasNoMatch
    ? { rows: [], total: 0 }
    : await listPenalties(
        db,
        {
          types: filter.type && [filter.type],
          status: filter.status,
          playerSteamId: subject.steamId64,
        },
        { page: filter.page, perPage: PENALTIES_PER_PAGE, now },
      );
  return (
    <PublicPenaltiesPage
      site={site}
      visit={visit}
      filter={filter}
      players={subject.candidates}
      penalties={found.rows}
      total={found.total}
      lastPage={Math.max(1, Math.ceil(found.total / PENALTIES_PER_PAGE))}
    />
  );
}

function readFilter(given: URLSearchParams): PublicFilter {
  return {
    query: readSearchText(given, 'q'),
    type: PENALTY_TYPES.find((type) => type === given.get('type')),
    status: PENALTY_STATUSES.find((status) => status === given.get('status')),
    page: tryParseRowId(given.get('page')) ?? 1,
  };
}
