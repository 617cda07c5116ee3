import { randomBytes } from 'node:crypto';
import type { JSX } from 'hono/jsx/jsx-runtime';
import { Unavailable } from '../../../src/domain/errors.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { claimNonce } from '../../../src/queries/users/sessions.ts';
import {
  type ConfiguredPeople,
  listConfiguredFlags,
  saveSignIn,
} from '../../../src/queries/users/user-changes.ts';
import { withNewDeadline } from '../../../src/runtime/request.ts';
import type { SteamProfile } from '../../../src/steam/persona-names.ts';
import type { AccountDeps } from '../account/account-deps.ts';
import { ProblemLine } from '../layout/card.tsx';
import { Icon, type IconName } from '../layout/icons.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import { textsOf } from '../locales/texts.ts';
import { type ReadDestination, withDestination } from '../request/destination.ts';
import { PageError } from '../request/page-error.ts';
import { startSession } from '../request/session.ts';
import type { Visit } from '../request/visit.ts';
import { ATTEMPT_SECONDS, finishAttempt, startAttempt } from './attempt.ts';
import { DemoSignIn } from './demo-sign-in.tsx';
import {
  AssertionRefused,
  buildSignInUrl,
  SignInCancelled,
  type SteamOpenId,
  verifyAssertion,
} from './steam-openid.ts';

type SignInProps = {
  site: Site;
  visit: Visit;
  /** The default PUBLIC_URL, if visitors would return there after signing in and not to the host that they opened. */
  defaultPublicUrl?: string | undefined;
  /** Whether users' penalties link to an appeal. */
  canAppeal: boolean;
};

/** The account page for visitors who are not signed in. */
export function SignInPage(props: SignInProps): JSX.Element {
  const { site, visit, defaultPublicUrl, canAppeal } = props;
  const t = textsOf(visit.language).signIn;
  const { penalties, appeals, sound, discord, tokens } = t.points;
  const points: [IconName, string[]][] = [
    ['shield', canAppeal ? appeals : penalties],
    ['sound', sound],
    ['link', discord],
    ['key', tokens],
  ];
  return (
    <Layout site={site} visit={visit} title={t.title}>
      {defaultPublicUrl !== undefined && <ProblemLine message={t.misleads(defaultPublicUrl)} />}
      <DemoSignIn visit={visit} />
      <section class="hero" aria-labelledby="welcome">
        <div class="hero-mark">
          <Icon name="mark" />
        </div>
        <h1 id="welcome">{t.heading}</h1>
        <p class="hero-lead">{t.lead}</p>
        <a class="button button-primary button-large" href={withDestination('/account/sign-in', visit.next)}>
          <Icon name="shield" />
          {t.button}
        </a>
      </section>
      <ul class="points">
        {points.map(([icon, [title, text]]) => (
          <li class="card">
            <Icon name={icon} />
            <h2>{title}</h2>
            <p>{text}</p>
          </li>
        ))}
      </ul>
    </Layout>
  );
}

type SignInDeps = AccountDeps &
  ConfiguredPeople & {
    steam: Omit<SteamOpenId, 'claimNonce'>;
    fetchProfile: (steamId64: SteamId64) => Promise<SteamProfile>;
    readDestination: ReadDestination;
  };

const RETURN_PATH = '/account/sign-in/return';

/** Redirects to Steam, with a state that is valid only in this browser. */
export function startSignIn(deps: SignInDeps, visit: Visit): Response {
  const { publicUrl } = deps.site;
  // Steam redirects to PUBLIC_URL, where cookies of another host name are not sent: redirect there first. Only once,
  // since behind a proxy the Host header may differ from the host in the address bar.
  const isElsewhere = visit.request.headers.get('host') !== new URL(publicUrl).host;
  if (isElsewhere && !visit.url.searchParams.has('at')) {
    const query = new URLSearchParams({
      at: 'public',
      ...(visit.next !== undefined && { next: visit.next }),
    });
    return deps.redirect(visit, `${publicUrl}/account/sign-in?${query}`);
  }
  const browser = readBrowser(deps, visit) ?? randomBytes(24).toString('base64url');
  visit.cookies.push(deps.cookies.write('sign-in', browser, ATTEMPT_SECONDS));
  const state = startAttempt(deps.signer, 'sign-in', {
    boundTo: browser,
    now: visit.now,
    carried: visit.next,
  });
  const realm = new URL(publicUrl).origin;
  return deps.redirect(
    visit,
    buildSignInUrl(deps.steam.providerUrl, { returnTo: returnAddress(publicUrl, state), realm }),
  );
}

/**
 * Handles the return from Steam: verifies the assertion, saves the user, starts a session with a new id, and redirects
 * to the page that the visitor wanted to see.
 * @throws {PageError} 400 for a refused sign-in, 503 when Steam is unavailable.
 */
export async function finishSignIn(deps: SignInDeps, visit: Visit): Promise<Response> {
  const state = visit.url.searchParams.get('state') ?? '';
  const options = { boundTo: readBrowser(deps, visit), now: visit.now };
  const attempt = await finishAttempt(deps, 'sign-in', state, options);
  // They signed in meanwhile, in another tab.
  if (attempt === undefined && visit.session) return deps.redirect(visit, '/account');
  if (attempt === undefined) throw new PageError('sign-in-refused', 400);
  visit.next = deps.readDestination(attempt.carried);

  const steamId = await verifySteamId(deps, visit, state);
  if (steamId === undefined) {
    return deps.redirect(visit, withDestination('/account', visit.next), 'sign-in-cancelled');
  }
  const { accountCreatedAt: _, ...profile } = await deps.fetchProfile(steamId);
  return withNewDeadline(async () => {
    const user = await saveSignIn(deps.db, steamId, {
      profile,
      configuredFlags: listConfiguredFlags(deps, steamId),
      now: visit.now,
    });
    visit.cookies.push(await startSession(deps, user, visit));
    return deps.redirect(visit, visit.next ?? '/account');
  });
}

/** The random value that recognises the browser which started a sign-in, in any of its tabs. */
function readBrowser({ cookies }: SignInDeps, { request }: Visit): string | undefined {
  return /^[\w-]{32}$/.exec(cookies.read(request, 'sign-in') ?? '')?.[0];
}

/** The SteamID64 that Steam confirms; undefined when the visitor cancelled on Steam. */
async function verifySteamId(deps: SignInDeps, visit: Visit, state: string): Promise<SteamId64 | undefined> {
  const steam = {
    ...deps.steam,
    claimNonce: (nonce: string, at: Date) => withNewDeadline(() => claimNonce(deps.db, `steam:${nonce}`, at)),
  };
  try {
    const expectedReturn = { returnTo: returnAddress(deps.site.publicUrl, state), state };
    return await verifyAssertion(steam, visit.url.search, expectedReturn);
  } catch (error) {
    if (error instanceof SignInCancelled) return undefined;
    if (error instanceof Unavailable) {
      deps.onUnavailable('steam', error);
      throw new PageError('steam-unavailable', 503, { cause: error });
    }
    if (!(error instanceof AssertionRefused)) throw error;
    deps.onRefused(error);
    throw new PageError('sign-in-refused', 400, { cause: error });
  }
}

function returnAddress(publicUrl: string, state: string): string {
  return `${publicUrl}${RETURN_PATH}?state=${state}`;
}
