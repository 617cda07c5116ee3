import type { JSX } from 'hono/jsx/jsx-runtime';
import type { RequestDb } from '../../../src/db/client.ts';
import { PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import { Card } from '../layout/card.tsx';
import { SelectField } from '../layout/form-fields.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { Moment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { MoreFilters, readSearchText, SearchButton, SearchField } from '../layout/search-form.tsx';
import { textsOf } from '../locales/texts.ts';
import type { Visit } from '../request/visit.ts';
import type { PublicRoute } from '../status/status-routes.tsx';
import {
  AdminName,
  PlayerOfPenalty,
  ReasonText,
  readPenaltyFilter,
  ShortStatus,
  statusOptions,
} from './penalty-words.tsx';
import { findPublicPlayer, PlayerChoice } from './player-choice.tsx';

const PATH = '/penalties';
const PENALTIES_PER_PAGE = 25;

type PublicDeps = { db: RequestDb; site: Site };

/** The route of the public penalty list; empty unless `PUBLIC_PENALTIES` enables it. */
export function publicPenaltyRoutes(deps: PublicDeps): PublicRoute[] {
  if (!deps.site.arePenaltiesPublic) return [];
  return [{ path: PATH, prepare: () => (visit) => showPenalties(deps, visit) }];
}

/** The public page of all penalties, which shows admins only by name. */
async function showPenalties({ db, site }: PublicDeps, visit: Visit): Promise<JSX.Element> {
  const { now, url } = visit;
  const parameters = url.searchParams;
  const query = readSearchText(parameters, 'q');
  const { types, status, page } = readPenaltyFilter(parameters);
  const { steamId64, candidates, hasNoMatch, isUnresolved } = await findPublicPlayer(db, query, now);
  const { rows, total } = hasNoMatch
    ? { rows: [], total: 0 }
    : await listPenalties(
        db,
        { types: types.length === 0 ? undefined : types, status, playerSteamId: steamId64 },
        { page, perPage: PENALTIES_PER_PAGE, now },
      );
  const { penalties: t, shell } = textsOf(visit.language);
  const { columns } = t;
  return (
    <Layout site={site} visit={visit} title={shell.nav.penalties}>
      <Card
        id="list"
        title={shell.nav.penalties}
        heading="h1"
        icon="shield"
        aside={candidates.length === 0 && t.count(total)}
      >
        <form method="get" action={PATH} class="search">
          <SearchField name="q" label={t.search} value={query} />
          <SearchButton label={t.find} />
          <MoreFilters isOpen={types.length > 0 || status !== undefined} visit={visit}>
            <SelectField
              name="type"
              label={columns.type}
              options={[['', t.everyType], ...PENALTY_TYPES.map((each) => [each, t.types[each]] as const)]}
              value={types[0]}
            />
            <SelectField name="status" label={columns.status} options={statusOptions(t)} value={status} />
          </MoreFilters>
        </form>
        <PlayerChoice candidates={candidates} parameter="q" visit={visit} />
        <ListTable
          isDense
          rows={rows}
          empty={candidates.length === 0 && (isUnresolved ? t.customAddress : t.nothingFound)}
          columns={[
            [
              columns.player,
              (penalty) => (
                <PlayerOfPenalty
                  penalty={penalty}
                  pathOf={({ steamId64 }) => `${PATH}?q=${steamId64}`}
                  visit={visit}
                />
              ),
              'list-words',
            ],
            [columns.type, (penalty) => t.types[penalty.type]],
            [
              columns.reason,
              ({ reason }) => <ReasonText reason={reason} visit={visit} />,
              'list-words list-cut',
            ],
            [columns.status, (penalty) => <ShortStatus penalty={penalty} visit={visit} />],
            [columns.admin, (penalty) => <AdminName penalty={penalty} visit={visit} />, 'list-words'],
            [columns.issued, ({ createdAt }) => <Moment at={createdAt} visit={visit} />],
          ]}
        />
        <PagesNav visit={visit} page={page} lastPage={Math.ceil(total / PENALTIES_PER_PAGE)} />
      </Card>
    </Layout>
  );
}
