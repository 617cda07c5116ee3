import type { JSX } from 'hono/jsx/jsx-runtime';
import { CSRF_FIELD } from '../visit/forms/form.ts';
import type { Visit } from '../visit/visit.ts';

/** The hidden field without which no form is accepted. */
export function CsrfField({ visit }: { visit: Pick<Visit, 'csrfToken'> }): JSX.Element {
  return <input type="hidden" name={CSRF_FIELD} value={visit.csrfToken} />;
}
