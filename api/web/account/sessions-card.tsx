import type { HtmlEscapedString } from 'hono/utils/html';
import {
  deleteSessionsOf,
  endSessionOf,
  listOpenSessions,
  MAX_SESSION_MS,
  type OpenSession,
} from '../../../src/queries/users/sessions.ts';
import { Card } from '../layout/card.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { Moment } from '../layout/moment.tsx';
import { PostButton } from '../layout/post-form.tsx';
import { formatInstant } from '../locales/locale.ts';
import { textsOf } from '../locales/texts.ts';
import { endSession, SESSION_SECONDS } from '../request/session.ts';
import type { UserRoute } from '../request/user-route.ts';
import type { UserVisit } from '../request/visit.ts';
import type { AccountDeps, CardProps } from './account-deps.ts';

const SESSION_FIELD = 'session';
const LASTING = { unused: SESSION_SECONDS / 86_400, most: MAX_SESSION_MS / 86_400_000 };

/** The devices on which the user is signed in, and the buttons to sign out. */
export async function SessionsCard({ deps, visit }: CardProps): Promise<HtmlEscapedString> {
  const { sessions: t, shell } = textsOf(visit.language);
  const openSessions = await listOpenSessions(deps.db, visit.user.id, visit.now);
  const isCurrent = ({ idHash }: OpenSession) => idHash === visit.session.idHash;
  const deviceOf = ({ browser, system }: OpenSession) => t.device(browser, system);
  const sessions = openSessions.toSorted((a, b) => Number(isCurrent(b)) - Number(isCurrent(a)));
  return (
    <Card
      id="sessions"
      title={t.title}
      icon="devices"
      aside={t.count(openSessions.length)}
      notice={visit.notice}
    >
      <p class="lead">{t.lead(LASTING)}</p>
      <ListTable
        rows={sessions}
        columns={[
          [
            t.columns.device,
            (session) => (
              <span>
                {deviceOf(session)} {isCurrent(session) && <span class="state state-live">{t.current}</span>}
              </span>
            ),
          ],
          [
            t.columns.seen,
            (session) => <Moment at={isCurrent(session) ? visit.now : session.seenAt} visit={visit} />,
          ],
          [t.columns.created, ({ createdAt }) => <Moment at={createdAt} visit={visit} />],
          [
            t.end,
            (session) =>
              !isCurrent(session) && (
                <PostButton
                  visit={visit}
                  action="/account/sessions/end"
                  label={t.end}
                  fullLabel={t.endNamed(deviceOf(session), formatInstant(visit, session.createdAt))}
                  class="button button-danger button-small"
                >
                  <input type="hidden" name={SESSION_FIELD} value={session.idHash} />
                </PostButton>
              ),
            'list-action',
          ],
        ]}
      />
      <div class="row">
        <PostButton visit={visit} action="/account/sign-out" icon="leave" label={shell.nav.signOut} />
        <PostButton
          visit={visit}
          action="/account/sign-out-everywhere"
          icon="devices"
          label={t.signOutEverywhere}
        />
      </div>
    </Card>
  );
}

/** Routes that end this session, another one, or all of them. */
export function sessionRoutes(deps: AccountDeps): UserRoute[] {
  return [
    {
      method: 'POST',
      path: '/sign-out',
      signedOutNotice: 'signed-out',
      handle: (visit) => signOut(deps, visit),
    },
    { method: 'POST', path: '/sessions/end', handle: (visit) => endOther(deps, visit) },
    { method: 'POST', path: '/sign-out-everywhere', handle: (visit) => signOutEverywhere(deps, visit) },
  ];
}

async function signOut(deps: AccountDeps, visit: UserVisit): Promise<Response> {
  visit.cookies.push(await endSession(deps, visit.request));
  return deps.redirect(visit, '/account', 'signed-out');
}

async function endOther(deps: AccountDeps, visit: UserVisit): Promise<Response> {
  const idHash = visit.form.get(SESSION_FIELD) ?? '';
  // No other text is the hash of a session, and PostgreSQL would fail on one with NUL.
  if (/^[0-9a-f]+$/.test(idHash)) await endSessionOf(deps.db, visit.user, idHash);
  return deps.redirect(visit, '/account#sessions', 'session-ended');
}

async function signOutEverywhere(deps: AccountDeps, visit: UserVisit): Promise<Response> {
  await deleteSessionsOf(deps.db, visit.user);
  visit.cookies.push(await endSession(deps, visit.request));
  return deps.redirect(visit, '/account', 'signed-out-everywhere');
}
