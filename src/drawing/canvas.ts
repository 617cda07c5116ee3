import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Canvas, SKRSContext2D } from '@napi-rs/canvas';

/** In pixels. */
export type PictureSize = { width: number; height: number };

const FONTS = [
  { family: 'ChartLatin', subset: 'latin' },
  { family: 'ChartLatinExt', subset: 'latin-ext' },
  { family: 'ChartCyrillic', subset: 'cyrillic' },
  { family: 'ChartGreek', subset: 'greek' },
];
const FONT_FAMILIES = FONTS.map(({ family }) => family).join(', ');

/** A font for text on the canvas, in the notation of CSS. */
export function font(weight: 400 | 600, sizePx: number): string {
  return `${weight} ${sizePx}px ${FONT_FAMILIES}`;
}

/** One canvas per size, reused: pixels lie outside of the heap, so the garbage collector would let them pile up. */
const canvases = new Map<string, Canvas>();
/** Pictures are drawn one after another, since they share the canvases. */
let lastPicture: Promise<unknown> = Promise.resolve();

/** Draws a picture on a cleared canvas. @returns a PNG. */
export function drawPng(size: PictureSize, draw: (context: SKRSContext2D) => void): Promise<Uint8Array> {
  const picture = lastPicture.then(async () => {
    const canvas = await findCanvas(size);
    const context = canvas.getContext('2d');
    context.clearRect(0, 0, size.width, size.height);
    draw(context);
    return canvas.encode('png');
  });
  lastPicture = picture.catch(() => undefined);
  return picture;
}

async function findCanvas(size: PictureSize): Promise<Canvas> {
  const key = `${size.width} ${size.height}`;
  const canvas = canvases.get(key) ?? (await openCanvas(size));
  canvases.set(key, canvas);
  return canvas;
}

/**
 * The library is loaded with the first picture: the service imports the sizes of banners, but never draws. The machine may
 * have no fonts: Inter is registered from its package.
 */
async function openCanvas({ width, height }: PictureSize): Promise<Canvas> {
  const { createCanvas, GlobalFonts } = await import('@napi-rs/canvas');
  const require = createRequire(import.meta.url);
  for (const { family, subset } of FONTS) {
    for (const weight of [400, 600]) {
      const file = require.resolve(`@fontsource/inter/files/inter-${subset}-${weight}-normal.woff2`);
      GlobalFonts.register(await readFile(file), family);
    }
  }
  return createCanvas(width, height);
}
