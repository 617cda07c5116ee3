import type { JSX } from 'hono/jsx/jsx-runtime';
import {
  PENALTY_STATUSES,
  PENALTY_TYPES,
  type PenaltyStatus,
  type PenaltyType,
} from '../../../src/domain/penalty.ts';
import type { Penalty } from '../../../src/queries/penalties/row.ts';
import { Icon } from '../layout/icons.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { Moment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { addressWith, MAX_SEARCH_LENGTH, SearchButton, SelectField } from '../layout/search-form.tsx';
import type { Visit } from '../request/visit.ts';
import { AdminName, PenaltyStatusText, PlayerOfPenalty, ReasonText } from './penalty-words.tsx';
import { type Candidate, isCustomAddress, PlayerChoice } from './player-choice.tsx';

const PATH = '/penalties';

/** The search and filters of a visitor. */
export type PublicFilter = {
  /** Part of a name, a SteamID or a profile address. */
  query: string;
  type: PenaltyType | undefined;
  status: PenaltyStatus | undefined;
  page: number;
};

type PublicPenaltiesProps = {
  site: Site;
  visit: Visit;
  filter: PublicFilter;
  /** The players to choose from when the search matches several; otherwise empty. */
  players: readonly Candidate[];
  penalties: readonly Penalty[];
  total: number;
  lastPage: number;
};

/** The public page of all penalties, which shows admins only by name. */
export function PublicPenaltiesPage(props: PublicPenaltiesProps): JSX.Element {
  const { site, visit, filter, players, penalties, total, lastPage } = props;
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
        {players.length === 0 && penalties.length === 0 && (
          <p class="empty">{isCustomAddress(filter.query) ? t.customAddress : t.nothingFound}</p>
        )}
        {penalties.length > 0 && <PublicTable penalties={penalties} visit={visit} />}
        <PagesNav
          visit={visit}
          page={filter.page}
          lastPage={lastPage}
          addressOf={(page) => addressOf({ ...filter, page })}
        />
      </section>
    </Layout>
  );
}

function addressOf({ query, type, status, page }: PublicFilter): string {
  return addressWith(PATH, { q: query, type, status, page: page > 1 ? String(page) : undefined });
}

function FilterForm({ filter, visit }: { filter: PublicFilter; visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale).penalties;
  return (
    <form method="get" action={PATH} class="search search-filtered">
      <div class="field field-wide">
        <label for="q">{t.search}</label>
        <input
          id="q"
          name="q"
          type="search"
          value={filter.query}
          maxlength={MAX_SEARCH_LENGTH}
          autocomplete="off"
        />
      </div>
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
