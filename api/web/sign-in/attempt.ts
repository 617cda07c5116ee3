import { randomBytes } from 'node:crypto';
import type { Db } from '../../../src/db/client.ts';
import { claimNonce } from '../../../src/queries/users/sessions.ts';
import type { Cookies } from '../request/cookies.ts';
import { hashOf, type Signer } from '../request/signing.ts';
import type { Visit } from '../request/visit.ts';

/** The flows that redirect a visitor to another site: signing in on Steam, linking on Discord. */
type AttemptName = 'sign-in' | 'discord-link';

type AttemptDeps = { db: Db; cookies: Cookies; signer: Signer };

/** How long an attempt is valid. */
const ATTEMPT_SECONDS = 600;
/** Between attempts in the cookie; neither base64url nor base 36 has it. */
const SEPARATOR = '~';
/** How many attempts of a browser are kept, one for each tab: with the longest destinations they take 3 of a cookie's 4 KB. */
const MAX_ATTEMPTS = 4;

type Attempt = {
  state: string;
  carried: string;
  expiresAt: Date;
  /** As it is in the cookie. */
  text: string;
};

/** The request that starts or finishes an attempt, and the cookies of its response. */
type AttemptVisit = Pick<Visit, 'request' | 'url' | 'now' | 'cookies'>;

/**
 * Starts an attempt: a random state that only this browser holds, in a signed cookie. The server stores nothing until
 * the visitor returns, so that starting many attempts takes no storage. Attempts in other tabs stay valid.
 * @param boundTo what the callback must match as well: the id hash of the session for a link, nothing for a sign-in.
 * @param carried data that the callback gets back from the signed cookie.
 * @returns the state, which the other site sends back as the query parameter `state`.
 */
export function startAttempt(
  deps: AttemptDeps,
  name: AttemptName,
  visit: AttemptVisit,
  { boundTo = '', carried = '' }: { boundTo?: string; carried?: string | undefined },
): string {
  const state = randomBytes(24).toString('base64url');
  const value = `${state}.${visit.now.getTime().toString(36)}.${Buffer.from(carried).toString('base64url')}`;
  const text = `${value}.${deps.signer.sign(`attempt ${name}`, `${value}.${boundTo}`)}`;
  const others = readAttempts(deps, name, visit, boundTo);
  visit.cookies.push(writeAttempts(deps, name, [{ text }, ...others].slice(0, MAX_ATTEMPTS)));
  return state;
}

/**
 * Finishes the attempt whose state is in the query, and returns its state and data. The state is invalidated by this call,
 * whatever happens next.
 * @returns undefined when the attempt is not in the cookie, has expired, is not signed by us, bound to something else, or
 * already used.
 */
export async function finishAttempt(
  deps: AttemptDeps,
  name: AttemptName,
  visit: AttemptVisit,
  { boundTo = '' }: { boundTo?: string } = {},
): Promise<{ state: string; carried: string } | undefined> {
  const attempts = readAttempts(deps, name, visit, boundTo);
  const attempt = attempts.find(({ state }) => state === visit.url.searchParams.get('state'));
  visit.cookies.push(
    writeAttempts(
      deps,
      name,
      attempts.filter((other) => other !== attempt),
    ),
  );
  if (!attempt) return undefined;
  const isFirst = await claimNonce(deps.db, `${name}:${hashOf(attempt.state)}`, attempt.expiresAt);
  return isFirst ? { state: attempt.state, carried: attempt.carried } : undefined;
}

/** The valid attempts of a browser, newest first. */
function readAttempts(
  { cookies, signer }: AttemptDeps,
  name: AttemptName,
  { request, now }: AttemptVisit,
  boundTo: string,
): Attempt[] {
  const texts = (cookies.read(request, name) ?? '').split(SEPARATOR).slice(0, MAX_ATTEMPTS);
  return texts.flatMap((text) => {
    const [state = '', startedAt = '', carried = '', signature = '', ...rest] = text.split('.');
    const isOurs = signer.isSigned(
      `attempt ${name}`,
      `${state}.${startedAt}.${carried}.${boundTo}`,
      signature,
    );
    const expiresAt = new Date(Number.parseInt(startedAt, 36) + ATTEMPT_SECONDS * 1000);
    if (rest.length > 0 || !isOurs || !(expiresAt > now)) return [];
    return { state, carried: Buffer.from(carried, 'base64url').toString(), expiresAt, text };
  });
}

function writeAttempts(
  { cookies }: AttemptDeps,
  name: AttemptName,
  attempts: readonly Pick<Attempt, 'text'>[],
): string {
  const value = attempts.map(({ text }) => text).join(SEPARATOR);
  return cookies.write(name, value, value === '' ? 0 : ATTEMPT_SECONDS);
}

/** The PKCE verifier of a state, 43 characters; derived, so that it does not have to be stored. */
export function codeVerifierOf(signer: Signer, state: string): string {
  return signer.sign('pkce', state);
}
