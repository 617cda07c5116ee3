import type { Db } from '../../../../src/db/client.ts';
import { InvalidInput } from '../../../../src/domain/errors.ts';
import { claimNonce } from '../../../../src/queries/users/sessions.ts';
import type { MemberVisit } from '../visit.ts';

/** The hidden field with the UUID of a form that must not be processed twice. */
export const FORM_ID_FIELD = 'form_id';

const FORM_ID = /^[0-9a-f-]{36}$/;
/** How long the id of a submitted form is stored. */
const FORM_ID_MS = 7 * 86_400_000;

/**
 * Returns true the first time a form is submitted, and false when it is submitted again, for example by a reload.
 * Always true for a form without an id.
 * @param db the transaction of the form's action: if the action fails, the form can be submitted again.
 * @throws {InvalidInput} when the id is not a UUID.
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
