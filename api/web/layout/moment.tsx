import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Language } from '../../../src/domain/language.ts';
import type { Visit } from '../request/visit.ts';
import { formatInstant, formatRelative } from './locales/locale.ts';

/** A relative time such as `3 days ago`, with the full date in the title. */
export function Moment({ at, visit }: { at: Date; visit: Pick<Visit, 'locale' | 'now'> }): JSX.Element {
  return (
    <time datetime={at.toISOString()} title={formatInstant(visit.locale, at)} data-local="title">
      {formatRelative(visit.locale, at, visit.now)}
    </time>
  );
}

/** A full date and time; pages.js converts it to the visitor's time zone. */
export function FullMoment({ at, locale }: { at: Date; locale: Language }): JSX.Element {
  return (
    <time datetime={at.toISOString()} data-local="text">
      {formatInstant(locale, at)}
    </time>
  );
}
