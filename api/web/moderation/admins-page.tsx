import type { JSX } from 'hono/jsx/jsx-runtime';
import { PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import {
  ADMIN_PERIODS,
  type AdminPeriodCounts,
  type AdminStatistics,
  listAdminStatistics,
} from '../../../src/queries/penalties/admins.ts';
import { Card } from '../layout/card.tsx';
import type { Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { nameOf } from '../layout/person.tsx';
import type { MemberRoute } from '../request/member-route.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import { Frame } from './frame.tsx';
import { type PenaltiesDeps, pathOfPenaltiesBy } from './penalties-page.tsx';

/** The route of the statistics of admins. */
export function adminsRoutes(deps: PenaltiesDeps): MemberRoute[] {
  return [{ method: 'GET', path: '/moderation/admins', handle: (visit) => showAdmins(deps, visit) }];
}

async function showAdmins({ db, site }: PenaltiesDeps, visit: MemberVisit): Promise<Response> {
  const admins = await listAdminStatistics(db, visit.now);
  return respondWithPage(<AdminsPage site={site} visit={visit} admins={admins} />);
}

type PageProps = { site: Site; visit: MemberVisit; admins: readonly AdminStatistics[] };

/** How many penalties of each type every admin gave in each period, and how many were lifted. */
function AdminsPage({ site, visit, admins }: PageProps): JSX.Element {
  const { moderation, records, penalties: t } = textsOf(visit.locale);
  const columns: { label: string; amountOf: (counts: AdminPeriodCounts) => number }[] = [
    ...PENALTY_TYPES.map((type) => ({
      label: t.types[type],
      amountOf: (counts: AdminPeriodCounts) => counts[type],
    })),
    { label: records.all, amountOf: (counts) => PENALTY_TYPES.reduce((sum, type) => sum + counts[type], 0) },
    { label: records.lifted, amountOf: ({ lifted }) => lifted },
  ];
  return (
    <Frame site={site} visit={visit} tab="admins">
      <Card id="admins" title={moderation.tabs.admins} icon="shield">
        <p class="lead">{admins.length === 0 ? records.noAdmins : records.adminsLead}</p>
        {admins.length > 0 && (
          <table class="list">
            <thead>
              <tr>
                <th scope="col">{t.columns.admin}</th>
                {columns.map(({ label }) => (
                  <th scope="col">{label}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {admins.map((admin) => (
                <tr>
                  <th scope="row" class="list-title list-words">
                    <AdminLink admin={admin} visit={visit} />
                  </th>
                  {columns.map(({ label, amountOf }) => (
                    <AmountsCell
                      label={label}
                      amounts={ADMIN_PERIODS.map((days) => amountOf(admin.periods[days]))}
                    />
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Card>
    </Frame>
  );
}

function AdminLink({ admin, visit }: { admin: AdminStatistics; visit: MemberVisit }): JSX.Element {
  const { steamId64, name } = admin;
  if (steamId64 === UNKNOWN_STEAM_ID) return <span>{textsOf(visit.locale).records.unknownAdmins}</span>;
  return (
    <a href={pathOfPenaltiesBy(steamId64)}>
      <bdi>{nameOf({ nickname: name, steamId64 }, visit.locale)}</bdi>
    </a>
  );
}

type AmountsProps = { label: string; amounts: readonly number[] };

/** `1 · 4 · 9`; a dash where all are 0. */
function AmountsCell({ label, amounts }: AmountsProps): JSX.Element {
  if (amounts.every((amount) => amount === 0)) return <td class="list-nothing hint">–</td>;
  return (
    <td data-label={label} class="amounts">
      {amounts.join(' · ')}
    </td>
  );
}
