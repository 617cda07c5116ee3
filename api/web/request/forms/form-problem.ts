import type { JSX } from 'hono/jsx/jsx-runtime';
import { textsOf } from '../../layout/locales/texts.ts';
import { PageError } from '../page-error.ts';
import { respondWithPage } from '../page-response.ts';
import type { MemberVisit } from '../visit.ts';

/** Why a form was refused, in the visitor's language, and the values it is shown with again. */
export type FormProblem = { message: string; values: ReadonlyMap<string, string> };

type FormPage = {
  values: ReadonlyMap<string, string>;
  /** Shows the page of the form. */
  show: (problem: FormProblem) => Promise<JSX.Element> | JSX.Element;
};

/** The statuses of errors that are about what was entered: bad input, and a file that is too large. */
const CORRECTABLE = [400, 413];

/**
 * Runs the action of a form. If it refuses what was entered, with a {@link PageError}, the response is the page of the
 * form, with the values and the reason, and the status of the error.
 */
export async function withFormShownAgain<Page>(
  visit: MemberVisit,
  { values, show }: FormPage,
  run: () => Promise<Page>,
): Promise<Page | Response> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof PageError) || !CORRECTABLE.includes(error.status)) throw error;
    const message = error.toMessage(textsOf(visit.locale));
    return respondWithPage(await show({ message, values }), error.status);
  }
}
