import { inTransaction, type RequestDb, type Tx } from '../../../../src/db/client.ts';
import { InvalidInput } from '../../../../src/domain/errors.ts';
import { claimNonce } from '../../../../src/queries/users/sessions.ts';
import { readBoundedText } from '../../../../src/runtime/bounded-text.ts';
import { PageError } from '../page-error.ts';
import type { Signer } from '../signing.ts';

/** The name of the hidden field with the CSRF token. */
export const CSRF_FIELD = 'csrf_token';
/** The header in which scripts send it instead. */
export const CSRF_HEADER = 'x-csrf-token';

const MAX_FORM_BYTES = 32_768;

/** The CSRF token of a session; it changes with every sign-in. */
export function csrfTokenOf(signer: Signer, session: { idHash: string }): string {
  return signer.sign('csrf', session.idHash);
}

/**
 * Rejects a POST without the CSRF token of its session, or from another site according to `Sec-Fetch-Site`. `Origin` is
 * ignored: with `Referrer-Policy: no-referrer`, browsers send `null`.
 * @param field the token in the form, unless the header has it.
 * @throws {PageError} 403
 */
export function requireCsrfToken(
  signer: Signer,
  session: { idHash: string },
  request: Request,
  field: string | undefined,
): void {
  const token = request.headers.get(CSRF_HEADER) ?? field;
  const site = request.headers.get('sec-fetch-site');
  const isForeign = site !== null && site !== 'same-origin';
  if (isForeign || !token || !signer.isSigned('csrf', session.idHash, token)) {
    throw new PageError('form-refused', 403);
  }
}

/**
 * Reads a URL-encoded form of at most 32 KiB, which holds a staff note of any 2,000 characters.
 * @throws {InvalidInput} when it is larger, has another content type, repeats a field, or is incomplete.
 */
export async function readForm(request: Request): Promise<Map<string, string>> {
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (type !== undefined && type !== 'application/x-www-form-urlencoded') {
    throw new InvalidInput(`forms of type ${JSON.stringify(type)} are not accepted`);
  }
  const text = await readBoundedText(request, MAX_FORM_BYTES).catch((cause: unknown) => {
    throw new InvalidInput('the form is incomplete', { cause });
  });
  if (text === undefined) throw new InvalidInput('the form is too large');
  const pairs = [...new URLSearchParams(text)];
  const fields = new Map(pairs);
  if (fields.size !== pairs.length) throw new InvalidInput('the form repeats a field');
  return fields;
}

/** The hidden field with the UUID of a form that must not be processed twice. */
export const FORM_ID_FIELD = 'form_id';

/** The hidden field with the SteamID64 of the user for whom the form was rendered. */
export const SENDER_FIELD = 'sender';
/** The fields for written text, which is shown again if the form fails. */
export const WRITTEN_FIELDS = ['text', 'reason'];

const FORM_ID = /^[0-9a-f-]{36}$/;
/** How long the id of a submitted form is stored. */
const FORM_ID_MS = 7 * 86_400_000;

/**
 * Carries out a form in a transaction the first time it is submitted. A form without an id is carried out each time, and one
 * whose action failed can be submitted again.
 * @returns undefined when it is submitted again, for example by a reload.
 * @throws {InvalidInput} when the id is not a UUID.
 */
export async function submitOnce<T>(
  db: RequestDb,
  { form, user, now }: { form: ReadonlyMap<string, string>; user: { id: number }; now: Date },
  action: (tx: Tx) => Promise<T>,
): Promise<T | undefined> {
  const formId = form.get(FORM_ID_FIELD);
  if (formId !== undefined && !FORM_ID.test(formId)) throw new InvalidInput('form_id is not a UUID');
  const expiresAt = new Date(now.getTime() + FORM_ID_MS);
  return inTransaction(db, async (tx) => {
    const isFirst = formId === undefined || (await claimNonce(tx, `form:${user.id}:${formId}`, expiresAt));
    return isFirst ? action(tx) : undefined;
  });
}
