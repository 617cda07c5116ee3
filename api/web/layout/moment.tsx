import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import { type Clock, formatInstant, formatRelative } from '../locales/locale.ts';
import type { Visit } from '../request/visit.ts';

type MomentProps = { at: Date; visit: Clock & Pick<Visit, 'now'>; children?: Child };

/** A relative time such as `3 days ago`, or other words for it, with the full date in the title. */
export function Moment({ at, visit, children }: MomentProps): JSX.Element {
  return (
    <time datetime={at.toISOString()} title={formatInstant(visit, at)} data-local="title">
      {children ?? formatRelative(visit.language, at, visit.now)}
    </time>
  );
}

/** A full date and time; pages.js converts it to the visitor's time zone. */
export function FullMoment({ at, visit }: { at: Date; visit: Clock }): JSX.Element {
  return (
    <time datetime={at.toISOString()} data-local="text">
      {formatInstant(visit, at)}
    </time>
  );
}
