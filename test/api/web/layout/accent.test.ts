import { expect, test } from 'bun:test';
import { accentRules } from '../../../../api/web/layout/accent.ts';
import { contrast } from '../../../support/web/contrast.ts';

const BASE = await Bun.file(
  new URL('../../../../api/web/layout/assets/styles/base.css', import.meta.url),
).text();

/** Colours that are hard to see in one theme or the other, or in neither. */
const ACCENTS = ['#000000', '#ffffff', '#808080', '#ffff00', '#0000ff', '#3b82f6', '#e11d48', '#14181f'];
const THEMES = ['dark', 'light'] as const;

/** The colours of a theme on a page: the base rules, overridden by those of the accent. */
function readTheme(theme: (typeof THEMES)[number], accent: string): Record<string, string> {
  const [dark = '', light = ''] = [...BASE.matchAll(/:root \{([^}]*)\}/g)].map(([, body]) => body ?? '');
  const [own = '', ownLight = ''] = [...accentRules(accent).matchAll(/:root\{([^}]*)\}/g)].map(
    ([, body]) => body ?? '',
  );
  const rules = theme === 'dark' ? dark + own : dark + light + own + ownLight;
  return Object.fromEntries(
    [...rules.matchAll(/--([\w-]+): ?(#[0-9a-f]{6});/g)].map(([, name, value]) => [name, value]),
  );
}

test.each(ACCENTS)('%s as the accent leaves texts and controls that stand out, in both themes', (accent) => {
  for (const theme of THEMES) {
    const colours = readTheme(theme, accent);
    for (const [front, back, least] of [
      ['link', 'background', 4.5],
      ['link', 'surface', 4.5],
      ['on-accent', 'accent', 4.5],
      ['on-accent', 'accent-hover', 4.5],
      ['accent-strong', 'surface', 3],
      ['accent-strong', 'background', 3],
    ] as const) {
      const ratio = contrast(colours[front] ?? '', colours[back] ?? '');
      expect([theme, front, back, ratio >= least ? 'enough' : ratio]).toEqual([theme, front, back, 'enough']);
    }
  }
});
