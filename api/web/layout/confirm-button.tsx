import type { JSX } from 'hono/jsx/jsx-runtime';
import { textsOf } from '../locales/texts.ts';
import type { UserVisit } from '../request/visit.ts';
import { PostForm } from './post-form.tsx';

type ConfirmButtonProps = {
  visit: UserVisit;
  /** Where the confirmed action is posted to. */
  action: string;
  /** Of the button, and of the one that confirms. */
  label: string;
  /** The accessible name, if `label` alone is ambiguous. */
  fullLabel?: string;
  /** What is asked. */
  title: string;
  lead: string;
};

/** A destructive action: a button that opens a question. It works without scripts; pages.js makes the dialog modal. */
export function ConfirmButton(props: ConfirmButtonProps): JSX.Element {
  const { visit, action, label, fullLabel, title, lead } = props;
  const id = `confirm-${crypto.randomUUID()}`;
  return (
    <>
      <button
        class="button button-danger button-small"
        type="button"
        popovertarget={id}
        aria-label={fullLabel}
        aria-haspopup="dialog"
      >
        {label}
      </button>
      <dialog id={id} class="dialog" popover="auto" aria-labelledby={`${id}-title`}>
        <h2 id={`${id}-title`}>{title}</h2>
        <p>{lead}</p>
        <PostForm visit={visit} action={action} class="row">
          <button class="button button-danger" type="submit">
            {label}
          </button>
          <button
            class="button button-quiet"
            type="button"
            popovertarget={id}
            popovertargetaction="hide"
            autofocus
          >
            {textsOf(visit.language).shell.cancel}
          </button>
        </PostForm>
      </dialog>
    </>
  );
}
