import type { JSX } from 'hono/jsx/jsx-runtime';

type TextFieldProps = JSX.IntrinsicElements['input'] & {
  name: string;
  /** Defaults to the name. */
  id?: string;
  label: string;
  /** What to enter. */
  hint?: string | undefined;
};

/** A field for one line of text with its label; further properties are those of the input. */
export function TextField({ name, id = name, label, hint, ...input }: TextFieldProps): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} name={name} aria-describedby={hint && `${id}-hint`} {...input} />
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

type SelectProps = {
  name: string;
  /** Defaults to the name. */
  id?: string;
  label: string;
  /** Values and their labels, in order. */
  options: readonly (readonly [value: string, label: string])[];
  value: string | undefined;
};

/** A menu with its label. */
export function SelectField({ name, id = name, label, options, value }: SelectProps): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={name}>
        {options.map(([option, text]) => (
          <option value={option} selected={option === value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}
