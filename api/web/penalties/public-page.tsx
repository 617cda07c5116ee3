import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import {
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyStatus,
  type PenaltyType,
} from '../../../src/domain/penalty.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import type { Penalty } from '../../../src/queries/penalties/row.ts';
import { SelectField } from '../layout/form-fields.tsx';
import { Icon } from '../layout/icons.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { Moment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { addressWith, readSearchText, SearchButton, SearchField } from '../layout/search-form.tsx';
import { tryParseRowId } from '../request/numbers.ts';
import type { Visit } from '../request/visit.ts';
import type { PublicRoute } from '../status/status-routes.tsx';
import { AdminName, PenaltyStatusText, PlayerOfPenalty, ReasonText } from './penalty-words.tsx';
import { findNamedPlayer, isCustomAddress, PlayerChoice } from './player-choice.tsx';

const PATH = '/penalties';

const PENALTIES_PER_PAGE = 25;

/** The search and filters of a visitor. */
type Filter = {
  /** Part of a name, a SteamID or a profile address. */
  query: string;
  type: PenaltyType | undefined;
  status: PenaltyStatus | undefined;
  page: number;
};

type PublicDeps = { db: Db; site: Site };

/** The route of the public penalty list; empty unless `PUBLIC_PENALTIES` enables it. */
export function publicPenaltyRoutes(deps: PublicDeps): PublicRoute[] {
  if (!deps.site.arePenaltiesPublic) return [];
  return [{ path: PATH, prepare: () => (visit) => showPenalties(deps, visit) }];
}

/** The public page of all penalties, which shows admins only by name. */
async function showPenalties({ db, site }: PublicDeps, visit: Visit): Promise<JSX.Element> {
  const { now } = visit;
  const filter = readFilter(visit.url.searchParams);
  const { type, status, page } = filter;
  // Nicknames of accounts are not public.
  const subject = await findNamedPlayer(db, filter.query, { now, scope: 'penaltyNames' });
  const { rows, total } = subject.hasNoMatch
    ? { rows: [], total: 0 }
    : await listPenalties(
        db,
        { types: type && [type], status, playerSteamId: subject.steamId64 },
        { page, perPage: PENALTIES_PER_PAGE, now },
      );
  const players = subject.candidates;
  const t = textsOf(visit.locale).penalties;
  return (
    <Layout site={site} visit={visit} title={t.ofPlayer}>
      <section class="card" aria-labelledby="list">
        <div class="card-head">
          <Icon name="shield" />
          <h1 id="list">{t.ofPlayer}</h1>
          {players.length === 0 && <span class="card-aside">{t.count(total)}</span>}
        </div>
        <FilterForm filter={filter} visit={visit} />
        <PlayerChoice
          candidates={players}
          addressOf={(steamId64) => addressOf({ ...filter, query: steamId64, page: 1 })}
          visit={visit}
        />
        {players.length === 0 && rows.length === 0 && (
          <p class="empty">{isCustomAddress(filter.query) ? t.customAddress : t.nothingFound}</p>
        )}
        {rows.length > 0 && <PublicTable penalties={rows} visit={visit} />}
        <PagesNav
          visit={visit}
          page={page}
          lastPage={Math.max(1, Math.ceil(total / PENALTIES_PER_PAGE))}
          addressOf={(page) => addressOf({ ...filter, page })}
        />
      </section>
    </Layout>
  );
}

function readFilter(parameters: URLSearchParams): Filter {
  return {
    query: readSearchText(parameters, 'q'),
    type: PENALTY_TYPES.find((type) => type === parameters.get('type')),
    status: PENALTY_STATUSES.find((status) => status === parameters.get('status')),
    page: tryParseRowId(parameters.get('page')) ?? 1,
  };
}

function addressOf({ query, type, status, page }: Filter): string {
  return addressWith(PATH, { q: query, type, status, page: page > 1 ? page : undefined });
}

function FilterForm({ filter, visit }: { filter: Filter; visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale).penalties;
  return (
    <form method="get" action={PATH} class="search search-filtered">
      <SearchField name="q" label={t.search} value={filter.query} />
      <SelectField
        name="type"
        label={t.columns.type}
        options={[['', t.everyType], ...PENALTY_TYPES.map((type) => [type, t.types[type]] as const)]}
        chosen={filter.type}
      />
      <SelectField
        name="status"
        label={t.columns.status}
        options={[
          ['', t.everyStatus],
          ...PENALTY_STATUSES.map((status) => [status, t.statuses[status]] as const),
        ]}
        chosen={filter.status}
      />
      <SearchButton label={t.find} />
    </form>
  );
}

function PublicTable({ penalties, visit }: { penalties: readonly Penalty[]; visit: Visit }): JSX.Element {
  const { columns, types } = textsOf(visit.locale).penalties;
  return (
    <ListTable
      rows={penalties}
      columns={[
        [
          columns.player,
          (penalty) => (
            <PlayerOfPenalty
              penalty={penalty}
              pathOf={(steamId64) => `${PATH}?q=${steamId64}`}
              visit={visit}
            />
          ),
          'list-words',
        ],
        [columns.type, ({ type }) => types[type]],
        [columns.reason, ({ reason }) => <ReasonText reason={reason} visit={visit} />, 'list-words'],
        [columns.admin, (penalty) => <AdminName penalty={penalty} visit={visit} />, 'list-words'],
        [columns.issued, ({ createdAt }) => <Moment at={createdAt} visit={visit} />],
        [columns.status, (penalty) => <PenaltyStatusText penalty={penalty} visit={visit} />, 'list-words'],
      ]}
    />
  );
}
