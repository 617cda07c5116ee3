import { InvalidInput } from '../../../../src/domain/errors.ts';
import { PageError } from '../page-error.ts';
import type { Signer } from '../signing.ts';
import { readBoundedText } from './bounded-text.ts';

/** The name of the hidden field, and of the header scripts send instead. */
export const CSRF_FIELD = 'csrf_token';
export const CSRF_HEADER = 'x-csrf-token';

const LARGEST_FORM_BYTES = 16_384;

/** The token of a session; it changes with every sign-in and is good for nothing else. */
export function csrfTokenOf(signer: Signer, session: { idHash: string }): string {
  return signer.sign('csrf', session.idHash);
}

/**
 * Refuses a POST without the token of its session, and one that `Sec-Fetch-Site` says another site sent. `Origin` is
 * ignored: under `Referrer-Policy: no-referrer` browsers send `null`.
 * @throws {PageError} 403
 */
export function requireCsrfToken(
  signer: Signer,
  session: { idHash: string },
  request: Request,
  token: string | undefined,
): void {
  const site = request.headers.get('sec-fetch-site');
  const isForeign = site !== null && site !== 'same-origin';
  if (isForeign || !token || !signer.isSigned('csrf', session.idHash, token)) {
    throw new PageError('form-refused', 403);
  }
}

/**
 * Reads a plain form, at most 16 KiB.
 * @throws {InvalidInput} when it is larger, of another type, repeats a field, or breaks off.
 */
export async function readForm(request: Request): Promise<Map<string, string>> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== undefined && type !== 'application/x-www-form-urlencoded') {
    throw new InvalidInput(`a form of type ${JSON.stringify(type)} is not read here`);
  }
  const text = await readBoundedText(request, LARGEST_FORM_BYTES).catch((cause: unknown) => {
    throw new InvalidInput('the form was broken off by its sender', { cause });
  });
  if (text === undefined) throw new InvalidInput('the form is too large');
  const pairs = [...new URLSearchParams(text)];
  const fields = new Map(pairs);
  if (fields.size !== pairs.length) throw new InvalidInput('a field of the form came twice');
  return fields;
}
