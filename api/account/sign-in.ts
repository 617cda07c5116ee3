import type { Db } from '../../src/db/client.ts';
import { Unavailable } from '../../src/errors.ts';
import { saveSignIn } from '../../src/queries/accounts.ts';
import type { SteamId64 } from '../../src/steam-id.ts';
import { type ReadDestination, withDestination } from './destination.ts';
import { type FlowDeps, finishFlow, startFlow } from './flow.ts';
import { PageError } from './page-error.ts';
import type { Redirect } from './page-response.ts';
import { endSession, type SessionDeps, startSession } from './session.ts';
import {
  AssertionRefused,
  buildSignInUrl,
  SignInCancelled,
  type SteamOpenId,
  verifyAssertion,
} from './steam-openid.ts';
import { fetchSteamProfile, type SteamProfiles } from './steam-profile.ts';
import type { Visit } from './visit.ts';

export type SignInDeps = FlowDeps &
  SessionDeps & {
    db: Db;
    steam: Omit<SteamOpenId, 'claimNonce'>;
    profiles: SteamProfiles;
    publicUrl: string;
    ownerSteamIds: readonly SteamId64[];
    redirect: Redirect;
    readDestination: ReadDestination;
    onRefused: (error: Error) => void;
  };

const RETURN_PATH = '/account/sign-in/return';

/** To Steam, with a state that only this browser can bring back. */
export function startSignIn(deps: SignInDeps, visit: Visit): Response {
  const { publicUrl } = deps;
  // Steam sends him back to PUBLIC_URL, where a cookie set under another name of this host would not be: change over
  // first. Once only, since a proxy may show us another name than the one in the address bar.
  const isElsewhere = visit.request.headers.get('host') !== new URL(publicUrl).host;
  if (isElsewhere && !visit.url.searchParams.has('at')) {
    const query = new URLSearchParams({
      at: 'public',
      ...(visit.next !== undefined && { next: visit.next }),
    });
    return deps.redirect(visit, `${publicUrl}/account/sign-in?${query}`);
  }
  const { state, cookie } = startFlow(deps, 'sign-in', { carried: visit.next, now: visit.now });
  visit.cookies.push(cookie);
  const realm = new URL(publicUrl).origin;
  return deps.redirect(
    visit,
    buildSignInUrl(deps.steam.providerUrl, { returnTo: returnAddress(publicUrl, state), realm }),
  );
}

/**
 * Back from Steam: the assertion is verified, the user has a row, gets a session with a new id, and is led to the
 * page that they wanted to see.
 * @throws {PageError} with what to tell the visitor.
 */
export async function finishSignIn(deps: SignInDeps, visit: Visit): Promise<Response> {
  visit.cookies.push(deps.cookies.write('sign-in', '', 0));
  const flow = await finishFlow(deps, 'sign-in', visit.request, { now: visit.now });
  if (flow === undefined) throw new PageError('sign-in-refused', 400);
  visit.next = deps.readDestination(flow.carried);

  const steamId = await proveSteamId(deps, visit, flow.state);
  if (steamId === undefined) {
    return deps.redirect(visit, withDestination('/account', visit.next), 'sign-in-cancelled');
  }
  const user = await saveSignIn(deps.db, steamId, {
    profile: await fetchSteamProfile(deps.profiles, steamId),
    isOwner: deps.ownerSteamIds.includes(steamId),
  });
  await endSession(deps, visit.request);
  visit.cookies.push(await startSession(deps, user, visit.now));
  return deps.redirect(visit, visit.next ?? '/account');
}

/** The SteamID64 that Steam vouches for; undefined when the visitor cancelled there. */
async function proveSteamId(deps: SignInDeps, visit: Visit, state: string): Promise<SteamId64 | undefined> {
  const steam = {
    ...deps.steam,
    claimNonce: (nonce: string, at: Date) => deps.claimNonce(`steam:${nonce}`, at),
  };
  try {
    const expected = { returnTo: returnAddress(deps.publicUrl, state), state };
    return await verifyAssertion(steam, visit.url.search, expected);
  } catch (error) {
    if (error instanceof SignInCancelled) return undefined;
    if (error instanceof Unavailable) throw new PageError('steam-unavailable', 503, { cause: error });
    if (!(error instanceof AssertionRefused)) throw error;
    deps.onRefused(error);
    throw new PageError('sign-in-refused', 400, { cause: error });
  }
}

function returnAddress(publicUrl: string, state: string): string {
  return `${publicUrl}${RETURN_PATH}?state=${state}`;
}
