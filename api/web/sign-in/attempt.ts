import { randomUUID } from 'node:crypto';
import type { RequestDb } from '../../../src/db/client.ts';
import { claimNonce } from '../../../src/queries/users/sessions.ts';
import type { Signer } from '../request/signing.ts';

/** The flows that redirect a visitor to another site: signing in on Steam, linking on Discord. */
type AttemptName = 'sign-in' | 'discord-link';

/** How long an attempt is valid. */
export const ATTEMPT_SECONDS = 600;

/**
 * Starts an attempt. The server stores nothing until the visitor returns, so that starting many attempts takes no storage.
 * @param options.boundTo a secret of this browser: another one cannot finish the attempt.
 * @param options.carried data that the callback gets back from the state.
 * @returns a sealed state, which the other site sends back as the query parameter `state`.
 */
export function startAttempt(
  signer: Signer,
  name: AttemptName,
  { boundTo, now, carried = '' }: { boundTo: string; now: Date; carried?: string | undefined },
): string {
  const expiresAtMs = now.getTime() + ATTEMPT_SECONDS * 1000;
  return signer.seal(`attempt ${name} ${boundTo}`, `${randomUUID()} ${expiresAtMs} ${carried}`);
}

/**
 * Finishes the attempt with this state and returns its data. The state is invalidated by this call, whatever happens next.
 * @returns undefined when the state has expired, is not sealed by us, bound to something else, or already used.
 */
export async function finishAttempt(
  { db, signer }: { db: RequestDb; signer: Signer },
  name: AttemptName,
  state: string,
  { boundTo, now }: { boundTo: string | undefined; now: Date },
): Promise<{ carried: string } | undefined> {
  const content = boundTo === undefined ? undefined : signer.open(`attempt ${name} ${boundTo}`, state);
  const [nonce, expiresAtMs, carried = ''] = content?.split(' ') ?? [];
  const expiresAt = new Date(Number(expiresAtMs));
  if (!(expiresAt > now)) return undefined;
  const isFirst = await claimNonce(db, `${name}:${nonce}`, expiresAt);
  return isFirst ? { carried } : undefined;
}

/** The PKCE verifier of a state, 43 characters; derived, so that it does not have to be stored. */
export function codeVerifierOf(signer: Signer, state: string): string {
  return signer.sign('pkce', state);
}
