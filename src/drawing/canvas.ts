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

/** One canvas a size: pixels lie outside the heap, where the collector would let those of many pictures pile up. */
const canvases = new Map<string, Promise<Canvas>>();
/** Pictures wait for each other, since they share the canvases. */
let lastPicture: Promise<unknown> = Promise.resolve();

/** Draws one picture on a clear canvas. @returns it as a PNG. */
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

function findCanvas(size: PictureSize): Promise<Canvas> {
  const key = `${size.width} ${size.height}`;
  const canvas = canvases.get(key) ?? openCanvas(size);
  canvases.set(key, canvas);
  return canvas;
}

/**
 * The library takes some 30 MB, so it is loaded for the first picture. It has no fonts of its own, and neither may the
 * machine: Inter is registered from its package.
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
