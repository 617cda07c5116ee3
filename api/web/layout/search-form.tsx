import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import { hasCommonYear, tryParseTime } from '../../../src/domain/text/timestamp.ts';
import { DAY_MS } from '../../../src/domain/time.ts';
import { textsOf } from '../locales/texts.ts';
import type { Visit } from '../request/visit.ts';
import { TextField } from './form-fields.tsx';
import { Icon } from './icons.tsx';

const MAX_SEARCH_LENGTH = 64;

/** Reads a text of a search from a query parameter. */
export function readSearchText(parameters: URLSearchParams, name: string): string {
  return (parameters.get(name) ?? '').replaceAll('\0', '').trim().slice(0, MAX_SEARCH_LENGTH);
}

/** Reads a day such as `2026-11-21`; empty for anything else, and if the year is not common in some time zone. */
export function readDay(parameters: URLSearchParams, name: string): string {
  const text = parameters.get(name) ?? '';
  const day = tryParseTime(text);
  if (!day?.isDate) return '';
  const reaches = [-1, 2].map((days) => new Date(day.time.getTime() + days * DAY_MS));
  return reaches.every(hasCommonYear) ? text : '';
}

/** The button that submits a search. */
export function SearchButton({ label }: { label: string }): JSX.Element {
  return (
    <button class="button button-primary" type="submit">
      <Icon name="search" />
      {label}
    </button>
  );
}

type MoreProps = { isOpen: boolean; visit: Pick<Visit, 'language'>; children?: Child };

/** Fields of a search in a section that can be opened. @param props.isOpen whether one of them is set. */
export function MoreFilters({ isOpen, visit, children }: MoreProps): JSX.Element {
  return (
    <details class="more" open={isOpen}>
      <summary>{textsOf(visit.language).records.more}</summary>
      <div class="filters">{children}</div>
    </details>
  );
}

/** `hint` says what the search understands. */
type SearchFieldProps = { name: string; label: string; value: string; hint?: string };

/** A text to search for, with its label. */
export function SearchField(field: SearchFieldProps): JSX.Element {
  return (
    <TextField {...field} type="search" maxlength={MAX_SEARCH_LENGTH} autocomplete="off" spellcheck={false} />
  );
}
