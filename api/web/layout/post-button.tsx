import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Visit } from '../request/visit.ts';
import { CsrfField } from './form-fields.tsx';
import { Icon, type IconName } from './icons.tsx';

type PostButtonProps = {
  visit: Pick<Visit, 'csrfToken'>;
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
    <form method="post" action={action}>
      <CsrfField visit={visit} />
      {children}
      <button class={classes} type="submit" aria-label={fullLabel}>
        {icon && <Icon name={icon} />}
        {label}
      </button>
    </form>
  );
}
