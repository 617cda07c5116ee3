import type { JSX } from 'hono/jsx/jsx-runtime';
import { PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { listHeldRemovals } from '../../../src/queries/held-removals.ts';
import {
  ADMIN_PERIODS,
  type AdminPeriodCounts,
  type AdminStatistics,
  listAdminStatistics,
} from '../../../src/queries/penalties/admins.ts';
import { Card } from '../layout/card.tsx';
import { type Column, ListTable } from '../layout/list-table.tsx';
import { nameOf } from '../layout/person.tsx';
import { textsOf } from '../locales/texts.ts';
import type { MemberVisit } from '../request/visit.ts';
import { Frame, type Handler } from './frame.tsx';
import { HeldRemovalsCard } from './held-removals-card.tsx';
import { pathOfPenaltiesBy } from './penalties.tsx';

/** The statistics of admins: how many penalties of each type each gave in each period, and how many were lifted. */
export const showAdmins: Handler = async ({ db, site }, visit) => {
  const admins = await listAdminStatistics(db, visit.now);
  const { moderation, records, penalties: t } = textsOf(visit.locale);
  /** `1 · 4 · 9`; a dash where all are 0. */
  const amounts = (
    label: string,
    amountOf: (counts: AdminPeriodCounts) => number,
  ): Column<AdminStatistics> => {
    const amountsOf = ({ periods }: AdminStatistics) => ADMIN_PERIODS.map((days) => amountOf(periods[days]));
    const isEmpty = (admin: AdminStatistics) => amountsOf(admin).every((amount) => amount === 0);
    return [
      label,
      (admin) => (isEmpty(admin) ? '–' : amountsOf(admin).join(' · ')),
      (admin) => (isEmpty(admin) ? 'list-nothing hint' : 'amounts'),
    ];
  };
  return (
    <Frame site={site} visit={visit} tab="admins">
      <HeldRemovalsCard removals={await listHeldRemovals(db)} visit={visit} />
      <Card id="admins" title={moderation.tabs.admins} icon="shield">
        <p class="lead">{admins.length === 0 ? records.noAdmins : records.adminsLead}</p>
        <ListTable
          rows={admins}
          columns={[
            [t.columns.admin, (admin) => <AdminLink admin={admin} visit={visit} />, 'list-words'],
            ...PENALTY_TYPES.map((type) => amounts(t.types[type], (counts) => counts[type])),
            amounts(records.all, (counts) => PENALTY_TYPES.reduce((sum, type) => sum + counts[type], 0)),
            amounts(records.lifted, ({ lifted }) => lifted),
          ]}
        />
      </Card>
    </Frame>
  );
};

function AdminLink({ admin, visit }: { admin: AdminStatistics; visit: MemberVisit }): JSX.Element {
  const { steamId64, name } = admin;
  if (steamId64 === UNKNOWN_STEAM_ID) return <span>{textsOf(visit.locale).records.unknownAdmins}</span>;
  return (
    <a href={pathOfPenaltiesBy(steamId64)}>
      <bdi>{nameOf({ nickname: name, steamId64 }, visit.locale)}</bdi>
    </a>
  );
}
