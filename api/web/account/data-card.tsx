import type { JSX } from 'hono/jsx/jsx-runtime';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { unreadStream } from '../../http/responses.ts';
import { Card } from '../layout/card.tsx';
import { ConfirmLink, ConfirmPage } from '../layout/confirm.tsx';
import type { Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import type { Cookies } from '../request/cookies.ts';
import type { MemberRoute } from '../request/member-route.ts';
import type { Notice, Redirect } from '../request/notice.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import type { Downloads } from './downloads.ts';

export type DataDeps = {
  downloads: Downloads;
  site: Site;
  cookies: Cookies;
  redirect: Redirect;
  /** Deletes the account with its tokens, sessions, link and sound. */
  deleteAccount: (steamId64: SteamId64) => Promise<void>;
};

type DataProps = { visit: MemberVisit; notice: Notice | undefined };

/** The user's own data: buttons that download it as a file and delete the account. */
export function DataCard({ visit, notice }: DataProps): JSX.Element {
  const t = textsOf(visit.locale).data;
  return (
    <Card id="data" title={t.title} icon="shield" notice={notice}>
      <p class="lead">{t.lead}</p>
      <div class="row">
        <a class="button button-quiet" href="/account/data" download>
          {t.download}
        </a>
        <ConfirmLink
          href="/account/delete"
          label={t.remove}
          title={t.removeTitle}
          lead={t.removeLead}
          visit={visit}
        />
      </div>
    </Card>
  );
}

/** Routes that download the user's data and delete the account. */
export function dataRoutes(deps: DataDeps): MemberRoute[] {
  return [
    {
      method: 'GET',
      path: '/data',
      isPage: false,
      isLimited: true,
      handle: (visit) => download(deps, visit),
    },
    { method: 'HEAD', path: '/data', handle: describeDownload },
    { method: 'GET', path: '/delete', handle: (visit) => showDeleteConfirmation(deps, visit) },
    { method: 'POST', path: '/delete', handle: (visit) => deleteAccount(deps, visit) },
  ];
}

async function download({ downloads }: DataDeps, { user, now }: MemberVisit): Promise<Response> {
  return new Response(await downloads.begin(user, now), { headers: headersOf(user.steamId64) });
}

/** The headers of a download, without reading the data and without the entry in the audit log. */
async function describeDownload({ user }: MemberVisit): Promise<Response> {
  return new Response(unreadStream(), { headers: headersOf(user.steamId64) });
}

/** The headers of the file. */
function headersOf(steamId64: SteamId64): Record<string, string> {
  return {
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': `attachment; filename="${steamId64}.json"`,
  };
}

async function showDeleteConfirmation({ site }: DataDeps, visit: MemberVisit): Promise<Response> {
  const t = textsOf(visit.locale).data;
  return respondWithPage(
    <ConfirmPage
      site={site}
      visit={visit}
      title={t.removeTitle}
      lead={t.removeLead}
      label={t.remove}
      back="/account#data"
    />,
  );
}

async function deleteAccount(deps: DataDeps, visit: MemberVisit): Promise<Response> {
  await deps.deleteAccount(visit.user.steamId64);
  visit.cookies.push(deps.cookies.write('session', '', 0));
  return deps.redirect(visit, '/account', 'account-deleted');
}
