import type { Db } from '../../src/db/client.ts';
import { recordAudit } from '../../src/queries/audit-log.ts';
import { countSessionsOf, deleteSessionsOf } from '../../src/queries/sessions.ts';
import type { Cookies } from './cookies.ts';
import { Icon } from './icons.tsx';
import { CsrfField } from './layout.tsx';
import type { Redirect } from './page-response.ts';
import type { AccountSection } from './section.ts';
import { endSession } from './session.ts';
import type { Signer } from './signing.ts';
import { textsOf } from './texts.ts';
import { type MemberVisit, readMemberForm } from './visit.ts';

type SessionsDeps = { db: Db; cookies: Cookies; signer: Signer; redirect: Redirect };

/** Where one is signed in, and the way out: here, and everywhere. */
export function sessionsSection(deps: SessionsDeps): AccountSection {
  return {
    id: 'sessions',
    title: (locale) => textsOf(locale).sessions.title,
    render: (visit) => renderSessions(deps, visit),
    routes: [
      { method: 'POST', path: '/sign-out', handle: (visit) => signOut(deps, visit) },
      { method: 'POST', path: '/sign-out-everywhere', handle: (visit) => signOutEverywhere(deps, visit) },
    ],
  };
}

async function renderSessions({ db }: SessionsDeps, visit: MemberVisit): Promise<string> {
  const t = textsOf(visit.locale).sessions;
  const open = await countSessionsOf(db, visit.user.id, visit.now);
  return (
    <>
      <p>{t.count(open)}</p>
      <p class="hint">{t.lead}</p>
      <div class="row">
        <form method="post" action="/account/sign-out">
          <CsrfField visit={visit} />
          <button class="button button-quiet" type="submit">
            <Icon name="leave" />
            {t.signOut}
          </button>
        </form>
        <form method="post" action="/account/sign-out-everywhere">
          <CsrfField visit={visit} />
          <button class="button button-quiet" type="submit">
            <Icon name="devices" />
            {t.signOutEverywhere}
          </button>
        </form>
      </div>
    </>
  );
}

async function signOut(deps: SessionsDeps, visit: MemberVisit): Promise<Response> {
  await readMemberForm(deps, visit);
  visit.cookies.push(await endSession(deps, visit.request));
  return deps.redirect(visit, '/account', 'signed-out');
}

async function signOutEverywhere(deps: SessionsDeps, visit: MemberVisit): Promise<Response> {
  await readMemberForm(deps, visit);
  const { user } = visit;
  await deps.db.transaction(async (tx) => {
    const sessions = await deleteSessionsOf(tx, user.id);
    await recordAudit(tx, {
      actorUserId: user.id,
      action: 'user.signed-out-everywhere',
      subject: user.steamId64,
      details: { sessions },
    });
  });
  visit.cookies.push(await endSession(deps, visit.request));
  return deps.redirect(visit, '/account', 'signed-out-everywhere');
}
