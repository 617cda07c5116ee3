import type { JSX } from 'hono/jsx/jsx-runtime';
import { PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { listHeldRemovals } from '../../../src/queries/held-removals.ts';
import {
  ADMIN_PERIODS,
  type AdminStatistics,
  listAdminStatistics,
} from '../../../src/queries/penalties/admins.ts';
import { Card } from '../layout/card.tsx';
import { SelectField } from '../layout/form-fields.tsx';
import { type Column, ListTable } from '../layout/list-table.tsx';
import { nameOf } from '../layout/person.tsx';
import { SearchButton } from '../layout/search-form.tsx';
import { textsOf } from '../locales/texts.ts';
import type { UserVisit } from '../request/visit.ts';
import { formatShare } from '../status/charts.tsx';
import { Frame, type Handler, pathOfTab } from './frame.tsx';
import { HeldRemovalsCard } from './held-removals-card.tsx';
import { pathOfPenaltiesBy } from './penalties.tsx';

const DEFAULT_DAYS = 30;

/** What admins are sorted by, the greatest first; the order of the query by default. */
const SORTS = ['all', ...PENALTY_TYPES, 'lifted', 'share'] as const;
type Sort = (typeof SORTS)[number];

function amountOf({ all, counts, lifted }: AdminStatistics, sort: Sort): number {
  return { all, ...counts, lifted, share: lifted / all }[sort];
}

/** The statistics of admins: how many penalties of each type each gave in a period, and how many were lifted. */
export const showAdmins: Handler = async ({ db, site }, visit) => {
  const parameters = visit.url.searchParams;
  const days = ADMIN_PERIODS.find((each) => String(each) === parameters.get('days')) ?? DEFAULT_DAYS;
  const sort = SORTS.find((each) => each === parameters.get('sort')) ?? 'all';
  const listed = await listAdminStatistics(db, { days, now: visit.now });
  const admins = listed.toSorted((a, b) => amountOf(b, sort) - amountOf(a, sort));
  const { moderation, records, penalties: t } = textsOf(visit.language);
  const labels: Record<Sort, string> = {
    all: records.all,
    ...t.types,
    lifted: records.lifted,
    share: records.share,
  };
  /** A number, which phones show with its label, or not at all if it is 0. */
  const amount = (
    name: Sort,
    write: (admin: AdminStatistics) => string = (admin) => String(amountOf(admin, name)),
  ): Column<AdminStatistics> => [
    labels[name],
    (admin) => (amountOf(admin, name) === 0 ? '–' : write(admin)),
    (admin) => (amountOf(admin, name) === 0 ? 'list-nothing hint' : 'amounts'),
  ];
  return (
    <Frame site={site} visit={visit} tab="admins">
      <HeldRemovalsCard removals={await listHeldRemovals(db)} visit={visit} />
      <Card id="admins" title={moderation.tabs.admins} icon="shield">
        <nav class="tabs" aria-label={records.period}>
          <ul>
            {ADMIN_PERIODS.map((each) => (
              <li>
                <a
                  href={`${pathOfTab('admins')}?${new URLSearchParams({ days: String(each), sort })}`}
                  aria-current={each === days ? 'page' : undefined}
                >
                  {records.days(each)}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        {admins.length === 0 ? (
          <p class="lead">{records.noAdmins(days)}</p>
        ) : (
          <form method="get" action={pathOfTab('admins')} class="search">
            <input type="hidden" name="days" value={days} />
            <SelectField name="sort" label={records.sort} options={Object.entries(labels)} value={sort} />
            <SearchButton label={records.applySort} />
          </form>
        )}
        <ListTable
          rows={admins}
          columns={[
            [t.columns.admin, (admin) => <AdminLink admin={admin} visit={visit} />, 'list-words'],
            amount('all'),
            ...PENALTY_TYPES.map((type) => amount(type)),
            amount('lifted', ({ all, lifted }) => {
              const share = Math.round((lifted / all) * 100) / 100;
              return `${lifted} (${formatShare(visit.language, share)})`;
            }),
          ]}
        />
      </Card>
    </Frame>
  );
};

function AdminLink({ admin, visit }: { admin: AdminStatistics; visit: UserVisit }): JSX.Element {
  const { steamId64, name } = admin;
  if (steamId64 === UNKNOWN_STEAM_ID) return <span>{textsOf(visit.language).records.unknownAdmins}</span>;
  return (
    <a href={pathOfPenaltiesBy(steamId64)}>
      <bdi>{nameOf({ nickname: name, steamId64 }, visit.language)}</bdi>
    </a>
  );
}
