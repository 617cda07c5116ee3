import type { Db } from '../../../../src/db/client.ts';
import { InvalidInput } from '../../../../src/domain/errors.ts';
import { claimNonce } from '../../../../src/queries/users/used-nonces.ts';
import type { MemberVisit } from '../visit.ts';

/** The field with the UUID that the page puts into a form that must not count twice. */
export const FORM_ID_FIELD = 'form_id';

const FORM_ID = /^[0-9a-f-]{36}$/;
/** How long a form that was sent is remembered. */
const FORM_ID_MS = 7 * 86_400_000;

/**
 * Whether a form is sent for the first time; after a reload, say, it is not. One without an id always is.
 * @param db the transaction of what the form does: when that fails, the form may be sent again.
 * @throws {InvalidInput} when its id is no UUID.
 */
export async function claimForm(
  db: Db,
  form: ReadonlyMap<string, string>,
  { user, now }: Pick<MemberVisit, 'user' | 'now'>,
): Promise<boolean> {
  const formId = form.get(FORM_ID_FIELD);
  if (formId === undefined) return true;
  if (!FORM_ID.test(formId)) throw new InvalidInput('form_id is not a UUID');
  return claimNonce(db, `form:${user.id}:${formId}`, new Date(now.getTime() + FORM_ID_MS));
}
