import { expect, test } from 'bun:test';
import { accentRules } from '../../../../api/web/layout/accent.ts';

const css = await Bun.file(
  new URL('../../../../api/web/layout/assets/styles/base.css', import.meta.url),
).text();

/** WCAG 2.2: 4.5 for text, 3 for the edges of controls. */
const OF_THE_ACCENT: [string, string, number][] = [
  ['link', 'background', 4.5],
  ['link', 'surface', 4.5],
  ['on-accent', 'accent', 4.5],
  ['on-accent', 'accent-hover', 4.5],
  ['accent-strong', 'surface', 3],
  ['accent-strong', 'background', 3],
];
const PAIRS: [string, string, number][] = [
  ...OF_THE_ACCENT,
  ['text', 'background', 4.5],
  ['text', 'surface', 4.5],
  ['text', 'surface-sunken', 4.5],
  ['text-soft', 'background', 4.5],
  ['text-soft', 'surface', 4.5],
  ['text-soft', 'surface-sunken', 4.5],
  ['danger', 'surface', 4.5],
  ['good', 'surface', 4.5],
  ['line-strong', 'surface', 3],
  ['line-strong', 'surface-sunken', 3],
];

test('texts and controls stand out enough in both themes', () => {
  expectContrast(PAIRS, '');
});

/** Colours that are hard to see in one theme or the other, or in neither. */
test.each(['#000000', '#ffffff', '#808080', '#ffff00', '#0000ff', '#3b82f6', '#e11d48', '#14181f'])(
  'texts keep their contrast with %s as the accent',
  (accent) => expectContrast(OF_THE_ACCENT, accentRules(accent)),
);

/** @param own the rules of an accent, which override those of the pages. */
function expectContrast(pairs: readonly [string, string, number][], own: string): void {
  const [dark = '', light = ''] = rootsOf(css);
  const [ownDark = '', ownLight = ''] = rootsOf(own);
  for (const [theme, rules] of [
    ['dark', dark + ownDark],
    ['light', dark + light + ownDark + ownLight],
  ] as const) {
    const colours = new Map(
      [...rules.matchAll(/--([\w-]+): ?(#[0-9a-f]{6});/g)].map(([, name = '', value = '']) => [name, value]),
    );
    for (const [front, back, least] of pairs) {
      const ratio = contrast(colours.get(front) ?? '', colours.get(back) ?? '');
      expect([theme, front, back, ratio >= least ? 'enough' : ratio]).toEqual([theme, front, back, 'enough']);
    }
  }
}

function rootsOf(rules: string): string[] {
  return [...rules.matchAll(/:root ?\{([^}]*)\}/g)].map(([, body]) => body ?? '');
}

/** WCAG 2.2, "contrast ratio", of two colours as `#rrggbb`. */
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
