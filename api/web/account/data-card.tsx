import type { JSX } from 'hono/jsx/jsx-runtime';
import { unreadStream } from '../../http/responses.ts';
import { Card } from '../layout/card.tsx';
import { ConfirmButton } from '../layout/confirm-button.tsx';
import { textsOf } from '../locales/texts.ts';
import type { UserRoute } from '../request/user-route.ts';
import type { UserVisit } from '../request/visit.ts';
import type { AccountDeps } from './account-deps.ts';

/** The user's own data: buttons that download it as a file and delete the account. */
export function DataCard({ visit }: { visit: UserVisit }): JSX.Element {
  const t = textsOf(visit.language).data;
  return (
    <Card id="data" title={t.title} icon="shield" notice={visit.notice}>
      <p class="lead">{t.lead}</p>
      <div class="row">
        <a class="button button-quiet" href="/account/data" download>
          {t.download}
        </a>
        <ConfirmButton
          visit={visit}
          action="/account/delete"
          label={t.remove}
          title={t.removeTitle}
          lead={t.removeLead}
        />
      </div>
    </Card>
  );
}

/** Routes that download the user's data and delete the account. */
export function dataRoutes(deps: AccountDeps): UserRoute[] {
  return [
    {
      method: 'GET',
      path: '/data',
      isPage: false,
      isLimited: true,
      handle: async (visit) => respondWithFile(visit, await deps.downloads.begin(visit.user, visit.now)),
    },
    // Only the headers: the data is not read, and the audit log gets no entry.
    { method: 'HEAD', path: '/data', handle: async (visit) => respondWithFile(visit, unreadStream()) },
    { method: 'POST', path: '/delete', handle: (visit) => deleteAccount(deps, visit) },
  ];
}

function respondWithFile({ user }: UserVisit, body: ReadableStream): Response {
  return new Response(body, {
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'content-disposition': `attachment; filename="${user.steamId64}.json"`,
    },
  });
}

async function deleteAccount(deps: AccountDeps, visit: UserVisit): Promise<Response> {
  await deps.deleteAccount(visit.user.steamId64);
  visit.cookies.push(deps.cookies.write('session', '', 0));
  return deps.redirect(visit, '/account', 'account-deleted');
}
