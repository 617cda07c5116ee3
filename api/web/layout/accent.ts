/** Red, green, blue, 0 to 255. */
type Rgb = readonly [number, number, number];

/** The background colours in `base.css` that the accent is used on, and the extreme to blend it with for contrast. */
const DARK = { surface: parse('#1b212b'), towards: parse('#ffffff') };
const LIGHT = { surface: parse('#f3f4f7'), towards: parse('#000000') };

/** Minimum contrast ratios of WCAG 2.2: of text, and of the edges of controls. */
const TEXT_CONTRAST = 4.5;
const EDGE_CONTRAST = 3;

/**
 * CSS rules that replace the default accent with a community's colour in both themes, lightened or darkened where its
 * contrast with the background is too low.
 * @param accent `#rrggbb`
 */
export function accentRules(accent: string): string {
  const colour = parse(accent);
  return [
    `:root{${themeRules(colour, DARK)}}`,
    `@media (prefers-color-scheme:light){:root{${themeRules(colour, LIGHT)}}}`,
  ].join('');
}

function themeRules(colour: Rgb, theme: typeof DARK): string {
  const black = parse('#0b0b0b');
  const white = parse('#ffffff');
  const isBright = contrast(black, colour) >= contrast(white, colour);
  const onAccent = isBright ? black : white;
  // Away from the text colour, so that the text stays readable on hover.
  const hover = mix(colour, isBright ? white : black, 0.15);
  const strong = ensureContrast(colour, theme, EDGE_CONTRAST);
  const link = ensureContrast(colour, theme, TEXT_CONTRAST);
  const values = {
    accent: format(colour),
    'accent-hover': format(hover),
    'on-accent': format(onAccent),
    'accent-strong': format(strong),
    'accent-soft': `${format(colour)}1f`,
    link: format(link),
    ring: `${format(strong)}2b`,
    'background-glow': format(mix(theme.surface, colour, 0.08)),
  };
  return Object.entries(values)
    .map(([name, value]) => `--${name}:${value};`)
    .join('');
}

/** The nearest shade of a colour with a contrast of at least `least` against the surface. */
function ensureContrast(colour: Rgb, { surface, towards }: typeof DARK, least: number): Rgb {
  for (let share = 0; share < 1; share += 0.05) {
    const shade = mix(colour, towards, share);
    if (contrast(shade, surface) >= least) return shade;
  }
  return towards;
}

function parse(text: string): Rgb {
  return Bun.color(text, '[rgb]') ?? [0, 0, 0];
}

function format(colour: Rgb): string {
  return `#${colour.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;
}

function mix(from: Rgb, to: Rgb, share: number): Rgb {
  const part = (at: 0 | 1 | 2) => from[at] + (to[at] - from[at]) * share;
  return [part(0), part(1), part(2)];
}

/** WCAG 2.2, "contrast ratio". */
function contrast(one: Rgb, other: Rgb): number {
  const [lighter = 0, darker = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (lighter + 0.05) / (darker + 0.05);
}

function luminance(colour: Rgb): number {
  const [red = 0, green = 0, blue = 0] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
