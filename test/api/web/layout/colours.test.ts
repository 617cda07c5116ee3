import { expect, test } from 'bun:test';
import { contrast } from '../../../support/web/contrast.ts';

const css = await Bun.file(
  new URL('../../../../api/web/layout/assets/styles/base.css', import.meta.url),
).text();

/** WCAG 2.2: 4.5 for text, 3 for the edges of controls. */
const PAIRS: [string, string, number][] = [
  ['text', 'background', 4.5],
  ['text', 'surface', 4.5],
  ['text', 'surface-sunken', 4.5],
  ['text-soft', 'background', 4.5],
  ['text-soft', 'surface', 4.5],
  ['text-soft', 'surface-sunken', 4.5],
  ['link', 'background', 4.5],
  ['link', 'surface', 4.5],
  ['danger', 'surface', 4.5],
  ['good', 'surface', 4.5],
  ['on-accent', 'accent', 4.5],
  ['on-accent', 'accent-hover', 4.5],
  ['line-strong', 'surface', 3],
  ['line-strong', 'surface-sunken', 3],
  ['accent-strong', 'surface', 3],
  ['accent-strong', 'background', 3],
];

test('texts and controls stand out enough in both themes', () => {
  const [dark = '', light = ''] = [...css.matchAll(/:root \{([^}]*)\}/g)].map(([, body]) => body ?? '');
  const colours = { dark: readColours(dark), light: { ...readColours(dark), ...readColours(light) } };
  for (const [theme, values] of Object.entries(colours)) {
    for (const [front, back, least] of PAIRS) {
      const ratio = contrast(values[front] ?? '', values[back] ?? '');
      expect([theme, front, back, ratio >= least ? 'enough' : ratio]).toEqual([theme, front, back, 'enough']);
    }
  }
});

function readColours(body: string): Record<string, string> {
  return Object.fromEntries(
    [...body.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]),
  );
}
