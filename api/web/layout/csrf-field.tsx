import type { JSX } from 'hono/jsx/jsx-runtime';
import { CSRF_FIELD } from '../request/forms/form.ts';
import type { Visit } from '../request/visit.ts';

/** The hidden field with the CSRF token, which every form must contain. */
export function CsrfField({ visit }: { visit: Pick<Visit, 'csrfToken'> }): JSX.Element {
  return <input type="hidden" name={CSRF_FIELD} value={visit.csrfToken} />;
}
