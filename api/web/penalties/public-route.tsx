import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import { PENALTY_STATUSES, PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { tryParseSteamReference } from '../../../src/domain/profile-address.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import { type FoundPlayer, searchPlayers } from '../../../src/queries/player-search.ts';
import { ErrorPage } from '../layout/error-page.tsx';
import type { Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { tryParseRowId } from '../request/numbers.ts';
import type { Visit } from '../request/visit.ts';
import type { PublicRoute } from '../status/status-routes.tsx';
import { MAX_QUERY_LENGTH, type PublicFilter, PublicPenaltiesPage } from './public-page.tsx';

const PENALTIES_PER_PAGE = 25;
const MAX_PLAYERS = 25;

/** The route of the public penalty list; empty unless `PUBLIC_PENALTIES` enables it. */
export function publicPenaltyRoutes(deps: { db: Db; site: Site }): PublicRoute[] {
  const { site } = deps;
  if (!site.arePenaltiesPublic) return [];
  const missing = (visit: Visit) => (
    <ErrorPage
      site={site}
      visit={visit}
      kind="notFound"
      message={textsOf(visit.locale).errors['not-found']}
    />
  );
  return [{ path: '/penalties', missing, prepare: () => (visit) => showPenalties(deps, visit) }];
}

async function showPenalties({ db, site }: { db: Db; site: Site }, visit: Visit): Promise<JSX.Element> {
  const { now } = visit;
  const filter = readFilter(visit.url.searchParams);
  const subject = await findSubject(db, filter.query, now);
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
      players={subject.players}
      penalties={found.rows}
      total={found.total}
      lastPage={Math.max(1, Math.ceil(found.total / PENALTIES_PER_PAGE))}
    />
  );
}

function readFilter(given: URLSearchParams): PublicFilter {
  return {
    query: (given.get('q') ?? '').replaceAll('\0', '').trim().slice(0, MAX_QUERY_LENGTH),
    type: PENALTY_TYPES.find((type) => type === given.get('type')),
    status: PENALTY_STATUSES.find((status) => status === given.get('status')),
    page: tryParseRowId(given.get('page')) ?? 1,
  };
}

/** The player or players that a search matches. */
type Subject = {
  /** The one matching player; absent when the query is empty, or matches none or several. */
  steamId64?: SteamId64 | undefined;
  /** No single player matches: no penalties are listed. */
  hasNoMatch: boolean;
  players: FoundPlayer[];
};

async function findSubject(db: Db, query: string, now: Date): Promise<Subject> {
  if (query === '') return { hasNoMatch: false, players: [] };
  const reference = tryParseSteamReference(query);
  if (reference && 'steamId64' in reference) {
    return { steamId64: reference.steamId64, hasNoMatch: false, players: [] };
  }
  // Nicknames of accounts are not public.
  const players = await searchPlayers(db, query, { limit: MAX_PLAYERS, now, scope: 'penaltyNames' });
  const [only, ...others] = players;
  if (only && others.length === 0) return { steamId64: only.steamId64, hasNoMatch: false, players: [] };
  return { hasNoMatch: true, players };
}
