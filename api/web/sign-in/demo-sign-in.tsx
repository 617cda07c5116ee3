import type { JSX } from 'hono/jsx/jsx-runtime';
import { InvalidInput } from '../../../src/domain/errors.ts';
import type { UserFlag } from '../../../src/domain/rights/user-flags.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { saveSignIn } from '../../../src/queries/users/user-changes.ts';
import { findUserBySteamId } from '../../../src/queries/users/users.ts';
import { Card } from '../layout/card.tsx';
import { textsOf } from '../locales/texts.ts';
import type { Redirect } from '../request/notice.ts';
import { PageError } from '../request/page-error.ts';
import { type SessionDeps, startSession } from '../request/session.ts';
import type { Visit } from '../request/visit.ts';

const DEMO_ROLES = ['owner', 'admin', 'moderator', 'member'] as const;
type DemoRole = (typeof DEMO_ROLES)[number];

/** The flags of users who sign in again after their account was deleted. */
const FLAGS: Record<DemoRole, UserFlag[]> = {
  owner: ['is_owner', 'is_admin'],
  admin: ['is_admin'],
  moderator: ['is_moderator'],
  member: [],
};

/** The fictional users that visitors of the demo can sign in as without Steam. */
export type DemoPeople = Readonly<Record<DemoRole, SteamId64>>;

type DemoSignInDeps = SessionDeps & { people: DemoPeople; redirect: Redirect };

export const DEMO_SIGN_IN_PATH = '/account/demo-sign-in';

/** Buttons to sign in as one of the demo's users; null for visitors who may not, or who are signed in. */
export function DemoSignIn({ visit }: { visit: Visit }): JSX.Element | null {
  const t = textsOf(visit.language).signIn.demo;
  if (!visit.isDemo || visit.session) return null;
  return (
    <Card id="demo" title={t.title} icon="key">
      <p class="lead">{t.lead}</p>
      <form method="post" action={DEMO_SIGN_IN_PATH} class="row">
        {visit.next !== undefined && <input type="hidden" name="next" value={visit.next} />}
        {DEMO_ROLES.map((role) => (
          <button class="button button-quiet" type="submit" name="as" value={role}>
            {t.as[role]}
          </button>
        ))}
      </form>
    </Card>
  );
}

/**
 * Signs in as one of the demo's users.
 * @throws {PageError} 404 for visitors who may not, 403 for a form sent from another site.
 */
export async function signInToDemo(
  deps: DemoSignInDeps & { readDestination: (text: string | null) => string | undefined },
  visit: Visit,
): Promise<Response> {
  if (!visit.isDemo) throw new PageError('not-found', 404);
  const site = visit.request.headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin') throw new PageError('form-refused', 403);
  const fields = await visit.readFields();
  const role = DEMO_ROLES.find((name) => name === fields.get('as'));
  if (!role) throw new InvalidInput(`as isn't valid: use one of ${DEMO_ROLES.join(', ')}`);
  const steamId64 = deps.people[role];
  const user =
    (await findUserBySteamId(deps.db, steamId64)) ??
    (await saveSignIn(deps.db, steamId64, { configuredFlags: FLAGS[role], now: visit.now }));
  visit.cookies.push(await startSession(deps, user, visit));
  return deps.redirect(visit, deps.readDestination(fields.get('next') ?? null) ?? '/account');
}
