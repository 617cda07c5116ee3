import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import { CSRF_FIELD, FORM_ID_FIELD, SENDER_FIELD } from '../request/forms/form.ts';
import type { UserVisit, Visit } from '../request/visit.ts';
import { ProblemLine } from './card.tsx';
import { Icon, type IconName } from './icons.tsx';

type PostFormProps = JSX.IntrinsicElements['form'] & {
  visit: Visit;
  /** The path, with the card as fragment in which a refused form is shown again. */
  action: string;
  /** Adds an id, so that the form is not processed twice; see `submitOnce`. */
  isSentOnce?: boolean;
};

/** A form with the CSRF token. A refused form begins with the reason. Further properties are those of the element. */
export function PostForm({ visit, isSentOnce = false, children, ...form }: PostFormProps): JSX.Element {
  const problem = isFormOf(visit, form.action) ? visit.problem : undefined;
  return (
    <form method="post" {...form}>
      {problem !== undefined && <ProblemLine message={problem} />}
      <input type="hidden" name={CSRF_FIELD} value={visit.csrfToken} />
      {isSentOnce && <input type="hidden" name={FORM_ID_FIELD} value={crypto.randomUUID()} />}
      {isSentOnce && <input type="hidden" name={SENDER_FIELD} value={visit.session?.user.steamId64} />}
      {children}
    </form>
  );
}

/** What was entered in a field of a form that is shown again; undefined for the other forms of the page. */
export function enteredIn(visit: UserVisit, action: string, name: string): string | undefined {
  return isFormOf(visit, action) ? visit.form.get(name) : undefined;
}

function isFormOf({ url }: Pick<Visit, 'url'>, action: string): boolean {
  return action.split('#')[0] === url.pathname;
}

type PostButtonProps = {
  visit: Visit;
  /** Where the button posts to. */
  action: string;
  label: string;
  /** The accessible name, if `label` alone is ambiguous. */
  fullLabel?: string;
  icon?: IconName;
  class?: string;
  /** Hidden fields. */
  children?: Child;
};

/** A form that consists of a button. */
export function PostButton(props: PostButtonProps): JSX.Element {
  const { visit, action, label, fullLabel, icon, class: classes = 'button button-quiet', children } = props;
  return (
    <PostForm visit={visit} action={action}>
      {children}
      <button class={classes} type="submit" aria-label={fullLabel}>
        {icon && <Icon name={icon} />}
        {label}
      </button>
    </PostForm>
  );
}
