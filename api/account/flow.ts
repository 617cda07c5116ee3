import { randomBytes } from 'node:crypto';
import type { Cookies } from './cookies.ts';
import { hashOf, type Signer } from './signing.ts';

/** A trip to another site and back: sign-in at Steam, linking at Discord. */
export type FlowName = 'sign-in' | 'discord-link';

export type FlowDeps = {
  cookies: Cookies;
  signer: Signer;
  /** See `queries/used-nonces.ts`. */
  claimNonce: (nonce: string, expiresAt: Date) => Promise<boolean>;
};

/** How long a visitor may stay at the other site. */
const FLOW_SECONDS = 600;

/**
 * Begins a trip: a random state that only this browser holds, in a signed cookie. Nothing is stored until he comes
 * back, so that starting a thousand trips fills nothing.
 * @param boundTo what the return has to match besides: the session that asked for the link, nothing for a sign-in.
 * @param carried what to know again at the return: a text of ours, in the signed cookie.
 */
export function startFlow(
  { cookies, signer }: FlowDeps,
  name: FlowName,
  { boundTo = '', carried = '', now }: { boundTo?: string; carried?: string | undefined; now: Date },
): { state: string; cookie: string } {
  const state = randomBytes(24).toString('base64url');
  const value = `${state}.${now.getTime().toString(36)}.${Buffer.from(carried).toString('base64url')}`;
  const signature = signer.sign(`flow ${name}`, `${value}.${boundTo}`);
  return { state, cookie: cookies.write(name, `${value}.${signature}`, FLOW_SECONDS) };
}

/**
 * Ends a trip: the state of this browser, which is used up by asking, whatever comes of it, and what it carried.
 * @returns undefined when there is none, it is too old, not ours, bound to something else, or was used.
 */
export async function finishFlow(
  { cookies, signer, claimNonce }: FlowDeps,
  name: FlowName,
  request: Request,
  { boundTo = '', now }: { boundTo?: string; now: Date },
): Promise<{ state: string; carried: string } | undefined> {
  const parts = (cookies.read(request, name) ?? '').split('.');
  const [state = '', startedAt = '', carried = '', signature = '', ...rest] = parts;
  const isOurs = signer.isSigned(`flow ${name}`, `${state}.${startedAt}.${carried}.${boundTo}`, signature);
  const expiresAt = new Date(Number.parseInt(startedAt, 36) + FLOW_SECONDS * 1000);
  if (rest.length > 0 || !isOurs || !(expiresAt > now)) return undefined;
  const isFirst = await claimNonce(`${name}:${hashOf(state)}`, expiresAt);
  return isFirst ? { state, carried: Buffer.from(carried, 'base64url').toString() } : undefined;
}

/** The PKCE verifier of a state: derived, so that it is in no cookie and no table. 43 characters. */
export function codeVerifierOf(signer: Signer, state: string): string {
  return signer.sign('pkce', state);
}
