import type { JSX } from 'hono/jsx/jsx-runtime';
import { hasCommonYear, tryParseTime } from '../../../src/domain/text/timestamp.ts';
import { Icon } from './icons.tsx';

export const MAX_SEARCH_LENGTH = 64;

/** Reads a text of a search from a query parameter. */
export function readSearchText(parameters: URLSearchParams, name: string): string {
  return (parameters.get(name) ?? '').replaceAll('\0', '').trim().slice(0, MAX_SEARCH_LENGTH);
}

/** Reads a day such as `2026-11-21`, in UTC; empty for anything else. */
export function readDay(parameters: URLSearchParams, name: string): string {
  const text = parameters.get(name) ?? '';
  const day = tryParseTime(text);
  return day?.isDate && hasCommonYear(day.time) ? text : '';
}

/** The address of a list with these filters; a filter that is empty or absent is left out. */
export function addressWith(path: string, filters: Record<string, string | number | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) if (value) query.set(name, String(value));
  return query.size === 0 ? path : `${path}?${query}`;
}

type SelectProps = {
  name: string;
  /** The name by default. */
  id?: string;
  label: string;
  /** Values and their labels, in order. */
  options: readonly (readonly [value: string, label: string])[];
  chosen: string | undefined;
};

/** A menu with its label. */
export function SelectField({ name, id = name, label, options, chosen }: SelectProps): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name}>
        {options.map(([value, text]) => (
          <option value={value} selected={value === chosen}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
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

type SearchFieldProps = {
  /** Of the query parameter, and the id. */
  name: string;
  label: string;
  value: string;
  maxLength?: number;
  /** What the search understands. */
  hint?: string;
};

/** A text to search for, with its label. */
export function SearchField(props: SearchFieldProps): JSX.Element {
  const { name, label, value, maxLength = MAX_SEARCH_LENGTH, hint } = props;
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        name={name}
        type="search"
        value={value}
        maxlength={maxLength}
        autocomplete="off"
        spellcheck={false}
        aria-describedby={hint && `${name}-hint`}
      />
      {hint && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
