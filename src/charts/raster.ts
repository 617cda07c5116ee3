import { fileURLToPath } from 'node:url';
import type { JSX } from 'hono/jsx/jsx-runtime';
import { LRUCache } from 'lru-cache';

/** How a text is written. */
type TextStyle = { size: number; weight: 400 | 600 };

/** The width of a text in pixels. */
export type MeasureText = (text: string, style: TextStyle) => number;

/** The machine may have no fonts, and pictures are to look the same everywhere. */
const FONTS = { 400: '400Regular/Inter_400Regular.ttf', 600: '600SemiBold/Inter_600SemiBold.ttf' };
const OPTIONS = {
  font: {
    loadSystemFonts: false,
    fontFiles: Object.values(FONTS).map((file) =>
      fileURLToPath(import.meta.resolve(`@expo-google-fonts/inter/${file}`)),
    ),
    defaultFontFamily: 'Inter',
  },
};

/** Widths at a size of 1000 pixels: names and addresses stay the same from picture to picture. */
const widths = new LRUCache<string, number>({ max: 1000 });

/**
 * Draws a picture outside of the main thread.
 * @param style CSS for the classes of the elements.
 * @param build returns the elements of the picture.
 * @returns a PNG.
 */
export async function drawPng(
  { width, height, style }: { width: number; height: number; style: string },
  build: (measure: MeasureText) => JSX.Element,
): Promise<Uint8Array<ArrayBuffer>> {
  const { renderAsync } = await loadLibrary();
  const elements = String(build(await loadMeasure()));
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><style>${style}</style>${elements}</svg>`;
  const image = await renderAsync(svg, OPTIONS);
  return new Uint8Array(image.asPng());
}

/** What measures texts as {@link drawPng} draws them. */
export async function loadMeasure(): Promise<MeasureText> {
  const { Resvg } = await loadLibrary();
  return (text, { size, weight }) => {
    const key = `${weight} ${text}`;
    const element = `<text font-size="1000" font-weight="${weight}">${Bun.escapeHTML(text)}</text>`;
    const svg = `<svg xmlns="http://www.w3.org/2000/svg">${element}</svg>`;
    const width = widths.get(key) ?? new Resvg(svg, OPTIONS).getBBox()?.width ?? 0;
    widths.set(key, width);
    return (width * size) / 1000;
  };
}

/** Loaded with the first picture: it takes 10 MB, and most processes draw none. */
function loadLibrary() {
  return import('@resvg/resvg-js');
}
