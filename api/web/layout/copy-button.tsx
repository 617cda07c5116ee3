import type { JSX } from 'hono/jsx/jsx-runtime';
import { textsOf } from '../locales/texts.ts';
import type { Visit } from '../request/visit.ts';
import { Icon } from './icons.tsx';

type CopyProps = { target: string; label: string; visit: Visit; isSmall?: boolean };

/** A button that copies the text of the element with the id `target`. Hidden until pages.js shows it. */
export function CopyButton({ target, label, visit, isSmall = false }: CopyProps): JSX.Element {
  const t = textsOf(visit.language).shell;
  return (
    <button type="button" class="button button-quiet copy" data-copy={target} hidden>
      <Icon name="copy" />
      <span data-copy-label class={isSmall ? 'sr-only' : undefined}>
        {t.copy}
      </span>
      <span class="sr-only">{label}</span>
    </button>
  );
}

type TextProps = { id: string; label: string; text: string; visit: Visit };

/** A text in a box, such as a new token, with a button that copies it. */
export function CopyableText({ id, label, text, visit }: TextProps): JSX.Element {
  return (
    <div class="secret">
      <span class="sr-only">{label}</span>
      <code id={id} class="secret-text">
        {text}
      </code>
      <CopyButton target={id} label={label} visit={visit} />
    </div>
  );
}
