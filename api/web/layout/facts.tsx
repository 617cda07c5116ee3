import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';

/** A label and its value. */
export type Fact = readonly [label: Child, value: Child];

type FactsProps = {
  /** Those with an empty value are left out. */
  facts: readonly Fact[];
  /** How they are laid out. */
  class: 'facts' | 'facts facts-inline' | 'server-facts' | 'sound-facts' | 'numbers';
};

/** Labels with their values. */
export function Facts({ facts, class: layout }: FactsProps): JSX.Element {
  return (
    <dl class={layout}>
      {facts
        .filter(([, value]) => value || value === 0)
        .map(([label, value]) => (
          <div>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
