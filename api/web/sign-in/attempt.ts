import { randomBytes } from 'node:crypto';
import type { Cookies } from '../visit/cookies.ts';
import { hashOf, type Signer } from '../visit/signing.ts';

/** The flows that redirect a visitor to another site: signing in on Steam, linking on Discord. */
export type AttemptName = 'sign-in' | 'discord-link';

export type AttemptDeps = {
  cookies: Cookies;
  signer: Signer;
  /** See `src/queries/users/used-nonces.ts`. */
  claimNonce: (nonce: string, expiresAt: Date) => Promise<boolean>;
};

/** How long an attempt is valid. */
const ATTEMPT_SECONDS = 600;

/**
 * Starts an attempt: a random state that only this browser holds, in a signed cookie. The server stores nothing until
 * the visitor returns, so that starting many attempts takes no storage.
 * @param boundTo what the callback must match as well: the id hash of the session for a link, nothing for a sign-in.
 * @param carried data that the callback gets back from the signed cookie.
 */
export function startAttempt(
  { cookies, signer }: AttemptDeps,
  name: AttemptName,
  { boundTo = '', carried = '', now }: { boundTo?: string; carried?: string | undefined; now: Date },
): { state: string; cookie: string } {
  const state = randomBytes(24).toString('base64url');
  const value = `${state}.${now.getTime().toString(36)}.${Buffer.from(carried).toString('base64url')}`;
  const signature = signer.sign(`attempt ${name}`, `${value}.${boundTo}`);
  return { state, cookie: cookies.write(name, `${value}.${signature}`, ATTEMPT_SECONDS) };
}

/**
 * Finishes an attempt and returns its state and data. The state is invalidated by this call, whatever happens next.
 * @returns undefined when the cookie is missing, expired, not signed by us, bound to something else, or already used.
 */
export async function finishAttempt(
  { cookies, signer, claimNonce }: AttemptDeps,
  name: AttemptName,
  request: Request,
  { boundTo = '', now }: { boundTo?: string; now: Date },
): Promise<{ state: string; carried: string } | undefined> {
  const parts = (cookies.read(request, name) ?? '').split('.');
  const [state = '', startedAt = '', carried = '', signature = '', ...rest] = parts;
  const isOurs = signer.isSigned(`attempt ${name}`, `${state}.${startedAt}.${carried}.${boundTo}`, signature);
  const expiresAt = new Date(Number.parseInt(startedAt, 36) + ATTEMPT_SECONDS * 1000);
  if (rest.length > 0 || !isOurs || !(expiresAt > now)) return undefined;
  const isFirst = await claimNonce(`${name}:${hashOf(state)}`, expiresAt);
  return isFirst ? { state, carried: Buffer.from(carried, 'base64url').toString() } : undefined;
}

/** The PKCE verifier of a state, 43 characters; derived, so that it does not have to be stored. */
export function codeVerifierOf(signer: Signer, state: string): string {
  return signer.sign('pkce', state);
}
