import { randomBytes } from 'node:crypto';
import type { Cookies } from '../visit/cookies.ts';
import { hashOf, type Signer } from '../visit/signing.ts';

/** What a visitor goes to another site for: to sign in at Steam, to link at Discord. */
export type AttemptName = 'sign-in' | 'discord-link';

export type AttemptDeps = {
  cookies: Cookies;
  signer: Signer;
  /** See `queries/used-nonces.ts`. */
  claimNonce: (nonce: string, expiresAt: Date) => Promise<boolean>;
};

/** How long a visitor may take at the other site. */
const ATTEMPT_SECONDS = 600;

/**
 * Starts an attempt: a random state that only this browser holds, in a signed cookie. The server stores nothing until
 * the visitor returns, so that starting many attempts costs no space.
 * @param boundTo what the return must match as well: the session that asked for the link, nothing for a sign-in.
 * @param carried a text of ours that the signed cookie carries to the return.
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
 * Finishes an attempt: its state and what it carried. The state is used up by this call, whatever happens next.
 * @returns undefined when there is none, it is too old, not ours, bound to something else, or was used.
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

/** The PKCE verifier of a state: derived, so that it is in no cookie and no table. 43 characters. */
export function codeVerifierOf(signer: Signer, state: string): string {
  return signer.sign('pkce', state);
}
