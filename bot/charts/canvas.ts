import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Canvas, SKRSContext2D } from '@napi-rs/canvas';

/** Twice the width at which Discord shows an embed's image, so that it stays sharp. */
export const WIDTH = 800;
export const HEIGHT = 360;

const FONTS = [
  { family: 'ChartLatin', subset: 'latin' },
  { family: 'ChartLatinExt', subset: 'latin-ext' },
];
const FONT_FAMILIES = FONTS.map(({ family }) => family).join(', ');

/** A font for text on the canvas, in the notation of CSS. */
export function font(weight: 400 | 600, sizePx: number): string {
  return `${weight} ${sizePx}px ${FONT_FAMILIES}`;
}

/** One canvas for all pictures: pixels lie outside the heap, where the collector would let those of many pile up. */
let canvas: Canvas | undefined;
/** Pictures wait for each other, since they share the canvas. */
let lastPicture: Promise<unknown> = Promise.resolve();

/** Draws one picture on a clear canvas. @returns it as a PNG. */
export function drawPng(draw: (context: SKRSContext2D) => void): Promise<Uint8Array> {
  const picture = lastPicture.then(async () => {
    canvas ??= await openCanvas();
    const context = canvas.getContext('2d');
    context.clearRect(0, 0, WIDTH, HEIGHT);
    draw(context);
    return canvas.encode('png');
  });
  lastPicture = picture.catch(() => undefined);
  return picture;
}

/**
 * The library takes some 30 MB, so it is loaded for the first picture. It has no fonts of its own, and neither may the
 * machine: Inter is registered from its package.
 */
async function openCanvas(): Promise<Canvas> {
  const { createCanvas, GlobalFonts } = await import('@napi-rs/canvas');
  const require = createRequire(import.meta.url);
  for (const { family, subset } of FONTS) {
    for (const weight of [400, 600]) {
      const file = require.resolve(`@fontsource/inter/files/inter-${subset}-${weight}-normal.woff2`);
      GlobalFonts.register(await readFile(file), family);
    }
  }
  return createCanvas(WIDTH, HEIGHT);
}
