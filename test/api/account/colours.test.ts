import { expect, test } from 'bun:test';

const css = await Bun.file(new URL('../../../api/account/assets/account.css', import.meta.url)).text();

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

/** WCAG 2.2, "contrast ratio". */
function contrast(front: string, back: string): number {
  const [lighter = 0, darker = 0] = [luminance(front), luminance(back)].sort((a, b) => b - a);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
